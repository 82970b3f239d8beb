import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Date;
import liquibase.CatalogAndSchema;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffGeneratorFactory;
import liquibase.diff.DiffResult;
import liquibase.diff.compare.CompareControl;
import liquibase.diff.output.DiffOutputControl;
import liquibase.diff.output.changelog.DiffToChangeLog;
import liquibase.lockservice.LockServiceFactory;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.Sequence;
import liquibase.structure.core.Table;
import liquibase.structure.core.View;

/** Changelogs by Liquibase. Each step that ends well is a line `pass liquibase.STEP` of the report, each other a line `fail`. */
public class App {
  interface Step {
    void run() throws Exception;
  }

  interface Use<T> {
    T with(Liquibase liquibase) throws Exception;
  }

  static PrintWriter report;

  static void step(String name, Step step) {
    try {
      step.run();
      report.println("pass liquibase." + name);
    } catch (Throwable error) {
      report.println("fail liquibase." + name);
      System.out.println("== " + name);
      error.printStackTrace(System.out);
    }
    report.flush();
  }

  static void same(Object expected, Object actual) {
    if (!expected.equals(actual)) {
      throw new AssertionError("expected " + expected + ", got " + actual);
    }
  }

  static Connection connect() throws Exception {
    return DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "");
  }

  static <T> T use(Use<T> use) throws Exception {
    Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connect()));
    try (Liquibase liquibase = new Liquibase("changes/root.xml", new ClassLoaderResourceAccessor(), database)) {
      return use.with(liquibase);
    }
  }

  static int update() throws Exception {
    // What it remembers of an update before would let it leave this one out.
    liquibase.Scope.getCurrentScope().getSingleton(liquibase.changelog.FastCheckService.class).clearCache();
    return use(liquibase -> {
      int before = liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size();
      liquibase.update(new Contexts());
      return before;
    });
  }

  static String ask(String query) throws Exception {
    try (Connection connection = connect(); var statement = connection.createStatement(); var rows = statement.executeQuery(query)) {
      rows.next();
      return rows.getString(1);
    }
  }

  static DatabaseSnapshot snapshot(Liquibase liquibase) throws Exception {
    Database database = liquibase.getDatabase();
    return SnapshotGeneratorFactory.getInstance().createSnapshot(CatalogAndSchema.DEFAULT, database, new SnapshotControl(database));
  }

  /** What differs between two snapshots, as a changelog. */
  static String changelog(DatabaseSnapshot wanted, DatabaseSnapshot found) throws Exception {
    DiffResult result = DiffGeneratorFactory.getInstance().compare(wanted, found, CompareControl.STANDARD);
    try (var bytes = new java.io.ByteArrayOutputStream(); var out = new java.io.PrintStream(bytes)) {
      new DiffToChangeLog(result, new DiffOutputControl(false, false, false, null)).print(out, new liquibase.serializer.core.xml.XMLChangeLogSerializer());
      return bytes.toString();
    }
  }

  static void steps() {
    step("status", () -> same(true, use(l -> l.listUnrunChangeSets(new Contexts(), new LabelExpression())).size() == 9));
    step("sql_without_running", () -> use(l -> {
      StringWriter out = new StringWriter();
      l.update(new Contexts(), out);
      same(true, out.toString().contains("CREATE TABLE public.customer"));
      return null;
    }));
    step("update", () -> {
      same(9, update());
      same("9", ask("select count(*) from databasechangelog where exectype = 'EXECUTED'"));
    });
    step("rows", () -> {
      same("10.75", ask("select spent_by(1)"));
      same("Ada / 1", ask("select remarks from customer where id = 1"));
      same("1002", ask("select max(id) from orders"));
      same("100", ask("select nextval('tickets')"));
    });
    step("nothing_to_do", () -> same(0, update()));
    step("snapshot", () -> use(l -> {
      DatabaseSnapshot snapshot = snapshot(l);
      same(true, snapshot.get(Table.class).size() >= 4);
      same(1, snapshot.get(View.class).size());
      same(2, snapshot.get(ForeignKey.class).size());
      same(true, snapshot.get(Sequence.class).stream().anyMatch(s -> s.getName().equals("tickets") && s.getIncrementBy().intValue() == 5));
      same(true, snapshot.get(Index.class).stream().anyMatch(i -> "orders_placed".equals(i.getName()) && i.getColumns().get(0).getDescending()));
      Column active = snapshot.get(Column.class).stream().filter(c -> c.getName().equals("active")).findFirst().orElseThrow();
      same("or gone", active.getRemarks());
      same(Boolean.TRUE, active.getDefaultValue());
      return null;
    }));
    step("difference_of_a_changed_table", () -> use(l -> {
      DatabaseSnapshot before = snapshot(l);
      try (Connection connection = connect()) {
        connection.createStatement().execute("alter table label add column colour varchar(10) default 'red', drop column uses");
      }
      String changes = use(other -> changelog(snapshot(other), before));
      same(true, changes.contains("<addColumn tableName=\"label\">") && changes.contains("dropColumn columnName=\"uses\""));
      try (Connection connection = connect()) {
        connection.createStatement().execute("alter table label drop column colour, add column uses smallint default 0");
      }
      return null;
    }));
    step("changelog_of_a_database", () -> use(l -> {
      Database empty = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connect()));
      try (Connection connection = connect()) {
        connection.createStatement().execute("create schema nothing");
      }
      DatabaseSnapshot none = SnapshotGeneratorFactory.getInstance()
          .createSnapshot(new CatalogAndSchema(null, "nothing"), empty, new SnapshotControl(empty));
      DiffResult result = DiffGeneratorFactory.getInstance().compare(snapshot(l), none, new CompareControl(
          new CompareControl.SchemaComparison[] {new CompareControl.SchemaComparison(CatalogAndSchema.DEFAULT, new CatalogAndSchema(null, "nothing"))}, (java.util.Set) null));
      same(true, result.getMissingObjects(Table.class).size() >= 4);
      same(2, result.getMissingObjects(ForeignKey.class).size());
      empty.close();
      return null;
    }));
    step("tags_and_rollbacks", () -> {
      use(l -> {
        l.tag("whole");
        l.rollback(2, "");
        return null;
      });
      same("true", ask("select (to_regclass('label') is null)::text"));
      use(l -> {
        l.rollback(5, "");
        return null;
      });
      same("0", ask("select count(*) from information_schema.columns where table_name = 'customer' and column_name = 'phone'"));
      same(7, update());
    });
    step("rollback_to_a_date", () -> {
      use(l -> {
        l.rollback(new Date(0), "");
        return null;
      });
      same("true", ask("select (to_regclass('customer') is null)::text"));
      same(9, update());
    });
    step("checksums", () -> {
      use(l -> {
        l.clearCheckSums();
        return null;
      });
      same("0", ask("select count(md5sum) from databasechangelog"));
      update();
      same("9", ask("select count(md5sum) from databasechangelog"));
    });
    step("lock", () -> use(l -> {
      var locks = LockServiceFactory.getInstance().getLockService(l.getDatabase());
      locks.waitForLock();
      same("true", ask("select locked::text from databasechangeloglock"));
      same(1, locks.listLocks().length);
      locks.releaseLock();
      return null;
    }));
    step("drop_all", () -> {
      use(l -> {
        l.dropAll();
        return null;
      });
      same("0", ask("select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'S')"));
    });
  }

  public static void main(String[] arguments) throws Exception {
    report = new PrintWriter(arguments[0]);
    steps();
  }
}
