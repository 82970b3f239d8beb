import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;

import javax.sql.XAConnection;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

import org.postgresql.xa.PGXADataSource;

/**
 * pgjdbc's PGXADataSource, as a transaction manager uses it. Arguments: JDBC URL, user, and what to do: "all" (in one
 * life of the server), "prepare" and then, after the server was killed, "recover".
 */
public final class TwoPhase {
    private record Id(int number) implements Xid {
        @Override
        public int getFormatId() {
            return 4711;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return new byte[] {'m', 'o', 't', 'e', (byte) number};
        }

        @Override
        public byte[] getBranchQualifier() {
            return new byte[] {(byte) (number >> 8), 7};
        }

        boolean is(Xid other) {
            return other.getFormatId() == getFormatId()
                && Arrays.equals(other.getGlobalTransactionId(), getGlobalTransactionId())
                && Arrays.equals(other.getBranchQualifier(), getBranchQualifier());
        }
    }

    private final XAConnection connection;
    private final XAResource resource;

    private TwoPhase(String url, String user) throws SQLException {
        PGXADataSource source = new PGXADataSource();
        source.setUrl(url);
        source.setUser(user);
        connection = source.getXAConnection();
        resource = connection.getXAResource();
    }

    public static void main(String[] arguments) throws Exception {
        TwoPhase client = new TwoPhase(arguments[0], arguments[1]);
        switch (arguments[2]) {
            case "all" -> client.all();
            case "prepare" -> client.prepareSome();
            case "recover" -> client.recoverSome();
            default -> throw new IllegalArgumentException(arguments[2]);
        }
        client.connection.close();
        System.out.println("ok " + arguments[2]);
    }

    private static void equal(Object expected, Object got) {
        if (!expected.equals(got)) {
            throw new AssertionError("expected " + expected + ", got " + got);
        }
    }

    private void execute(String text) throws SQLException {
        try (Connection handle = connection.getConnection(); Statement statement = handle.createStatement()) {
            statement.execute(text);
        }
    }

    private String ask(String query) throws SQLException {
        try (Connection handle = connection.getConnection(); Statement statement = handle.createStatement();
             ResultSet rows = statement.executeQuery(query)) {
            StringBuilder all = new StringBuilder();
            while (rows.next()) {
                all.append(rows.getString(1)).append(' ');
            }
            return all.toString().strip();
        }
    }

    private void work(Id id, String text) throws Exception {
        resource.start(id, XAResource.TMNOFLAGS);
        execute(text);
        resource.end(id, XAResource.TMSUCCESS);
    }

    private Xid[] inDoubt() throws XAException {
        return resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
    }

    private void all() throws Exception {
        execute("create table accounts (id int primary key, balance int not null)");
        execute("insert into accounts values (1, 100), (2, 100)");
        // Two phases, one phase, rollback before and after PREPARE.
        Id first = new Id(1);
        work(first, "update accounts set balance = balance - 10 where id = 1");
        equal(XAResource.XA_OK, resource.prepare(first));
        equal(1, inDoubt().length);
        equal(true, first.is(inDoubt()[0]));
        equal("100 100", ask("select balance from accounts order by id"));
        resource.commit(first, false);
        equal(0, inDoubt().length);
        Id second = new Id(2);
        work(second, "update accounts set balance = balance + 10 where id = 2");
        resource.commit(second, true);
        equal("90 110", ask("select balance from accounts order by id"));
        Id third = new Id(3);
        work(third, "delete from accounts");
        resource.rollback(third);
        Id fourth = new Id(4);
        work(fourth, "delete from accounts");
        equal(XAResource.XA_OK, resource.prepare(fourth));
        resource.rollback(fourth);
        equal("90 110", ask("select balance from accounts order by id"));
        // A decision that was taken cannot be taken again.
        for (Id id : new Id[] {first, fourth}) {
            try {
                resource.commit(id, false);
                throw new AssertionError("decided twice");
            } catch (XAException error) {
                equal(XAException.XAER_NOTA, error.errorCode);
            }
        }
        // A gid in use.
        work(fourth, "insert into accounts values (4, 0)");
        equal(XAResource.XA_OK, resource.prepare(fourth));
        try {
            work(fourth, "insert into accounts values (5, 0)");
            resource.prepare(fourth);
            throw new AssertionError("prepared twice");
        } catch (XAException error) {
            equal(true, error.errorCode != XAException.XAER_NOTA);
        }
        resource.rollback(fourth);
        equal(0, inDoubt().length);
        equal("90 110", ask("select balance from accounts order by id"));
    }

    private void prepareSome() throws Exception {
        execute("create table kept (id int primary key)");
        for (int number = 1; number <= 6; number++) {
            Id id = new Id(number);
            work(id, "insert into kept values (" + number + ")");
            equal(XAResource.XA_OK, resource.prepare(id));
        }
        resource.commit(new Id(1), false);
        resource.rollback(new Id(2));
    }

    private void recoverSome() throws Exception {
        Xid[] found = inDoubt();
        equal(4, found.length);
        for (Xid xid : found) {
            int number = xid.getGlobalTransactionId()[4];
            equal(true, new Id(number).is(xid) && number >= 3);
            if (number % 2 == 1) {
                resource.commit(xid, false);
            } else {
                resource.rollback(xid);
            }
        }
        equal("1 3 5", ask("select id from kept order by id"));
        equal(0, inDoubt().length);
    }
}
