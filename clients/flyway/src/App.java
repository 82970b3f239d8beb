import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationState;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.core.api.migration.BaseJavaMigration;
import org.flywaydb.core.api.migration.Context;

/** Migrations by Flyway. Each step that ends well is a line `pass flyway.STEP` of the report, each other a line `fail`. */
public class App {
  interface Step {
    void run() throws Exception;
  }

  static PrintWriter report;

  static void step(String name, Step step) {
    try {
      step.run();
      report.println("pass flyway." + name);
    } catch (Throwable error) {
      report.println("fail flyway." + name);
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

  static String ask(String query) throws Exception {
    try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL") + "?currentSchema=app_flyway", System.getenv("PGUSER"), "");
        var statement = connection.createStatement();
        var rows = statement.executeQuery(query)) {
      rows.next();
      return rows.getString(1);
    }
  }

  /** A migration in Java, between those in SQL. */
  public static class V4__by_java extends BaseJavaMigration {
    @Override
    public void migrate(Context context) throws Exception {
      try (var insert = context.getConnection().prepareStatement("insert into orders (customer_id, total) values (?, ?)")) {
        for (int i = 1; i <= 4; i++) {
          insert.setLong(1, i);
          insert.setBigDecimal(2, new java.math.BigDecimal(i));
          insert.addBatch();
        }
        insert.executeBatch();
      }
    }
  }

  static FluentConfiguration configure(String... locations) {
    return Flyway.configure().dataSource(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "").schemas("app_flyway", "app_flyway_2")
        .placeholders(Map.of("now", "now()")).locations(locations).javaMigrations(new V4__by_java()).cleanDisabled(false)
        .defaultSchema("app_flyway")
        // CREATE INDEX CONCURRENTLY waits for other transactions, so for the one that would hold Flyway's lock.
        .configuration(Map.of("flyway.postgresql.transactional.lock", "false"));
  }

  static Flyway plain() {
    return configure("db/migration").load();
  }

  static void steps() {
    step("two_at_once", () -> {
      // Both take the lock in turn, one of them finds nothing to do.
      var first = CompletableFuture.supplyAsync(() -> configure("db/migration").target("1.1").load().migrate().migrationsExecuted);
      var second = CompletableFuture.supplyAsync(() -> configure("db/migration").target("1.1").load().migrate().migrationsExecuted);
      same(3, first.get() + second.get());
    });
    step("rows_of_copy", () -> same("4", ask("select count(*) from app_flyway.customer")));
    step("in_and_out_of_transactions", () -> same(3, plain().migrate().migrationsExecuted));
    step("objects_are_there", () -> {
      same("1", ask("select count(*) from app_flyway.customers_named('ada')"));
      same("10.00", ask("select sum(total) from app_flyway.orders"));
      same("true", ask("select indisvalid::text from pg_index where indexrelid = 'app_flyway.customer_name'::regclass"));
    });
    step("info", () -> {
      var info = plain().info();
      same("4", info.current().getVersion().toString());
      same(0, info.pending().length);
      same(true, info.applied().length >= 6);
    });
    step("validate", () -> same(true, plain().validateWithResult().validationSuccessful));
    step("nothing_to_do", () -> same(0, plain().migrate().migrationsExecuted));
    step("changed_file_is_found", () -> {
      try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "")) {
        same(1, connection.createStatement().executeUpdate("update app_flyway.flyway_schema_history set checksum = 1 where version = '3'"));
      }
      same(false, plain().validateWithResult().validationSuccessful);
      plain().repair();
      same(true, plain().validateWithResult().validationSuccessful);
    });
    step("failure_leaves_nothing", () -> {
      try {
        configure("db/migration", "db/broken").load().migrate();
        throw new AssertionError("no error");
      } catch (FlywayException error) {
        same(true, error.getMessage().contains("22P02"));
      }
      same("true", ask("select (to_regclass('app_flyway.half') is null)::text"));
      same("4", plain().info().current().getVersion().toString());
    });
    step("callbacks", () -> {
      configure("db/migration", "db/callback").load().migrate();
      same("1", ask("select count(*) from app_flyway.calls"));
    });
    step("groups", () -> {
      Flyway flyway = configure("db/migration").group(true).mixed(true).load();
      flyway.clean();
      same(6, flyway.migrate().migrationsExecuted);
    });
    step("baseline", () -> {
      Flyway flyway = configure("db/migration").load();
      flyway.clean();
      try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "")) {
        connection.createStatement().execute("create schema app_flyway; create table app_flyway.old (a int)");
      }
      Flyway based = configure("db/migration").baselineOnMigrate(true).baselineVersion(MigrationVersion.fromVersion("4"))
          .locations("db/callback").load();
      based.baseline();
      same(true, based.info().pending().length <= 1);
      same("4", based.info().current().getVersion().toString());
      same(MigrationState.BASELINE, based.info().current().getState());
    });
    step("clean_drops_all", () -> {
      plain().clean();
      same("0", ask("select count(*) from pg_class where relnamespace in (select oid from pg_namespace where nspname like 'app_flyway%')"));
      same("0", ask("select count(*) from pg_proc where proname in ('pay', 'customers_named')"));
    });
  }

  public static void main(String[] arguments) throws Exception {
    report = new PrintWriter(arguments[0]);
    steps();
  }
}
