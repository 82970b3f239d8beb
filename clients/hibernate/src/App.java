import jakarta.persistence.LockModeType;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.PersistenceException;
import java.io.PrintWriter;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.hibernate.LockOptions;
import org.hibernate.ScrollMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.StatelessSession;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.exception.LockAcquisitionException;
import org.hibernate.query.Query;

/** A shop on Hibernate. Each step that ends well is a line `pass hibernate.STEP` of the report, each other a line `fail`. */
public class App {
  interface Step {
    void run() throws Exception;
  }

  static final String SCHEMA = "app_hibernate";
  static PrintWriter report;
  static SessionFactory factory;

  static void step(String name, Step step) {
    try {
      step.run();
      report.println("pass hibernate." + name);
    } catch (Throwable error) {
      report.println("fail hibernate." + name);
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

  static SessionFactory factory(String ddl) {
    Configuration configuration = new Configuration();
    for (Class<?> type : List.of(
        Shop.Customer.class, Shop.Product.class, Shop.Book.class, Shop.Machine.class, Shop.Purchase.class,
        Shop.Line.class, Shop.Label.class, Shop.Note.class)) {
      configuration.addAnnotatedClass(type);
    }
    String url = System.getenv("JDBC_URL");
    configuration.setProperty("hibernate.connection.url", url);
    configuration.setProperty("hibernate.connection.username", System.getenv("PGUSER"));
    configuration.setProperty("hibernate.default_schema", SCHEMA);
    configuration.setProperty("hibernate.hbm2ddl.auto", ddl);
    configuration.setProperty("hibernate.hbm2ddl.create_namespaces", "true");
    configuration.setProperty("hibernate.jdbc.batch_size", "50");
    configuration.setProperty("hibernate.jdbc.time_zone", "UTC");
    configuration.setProperty("hibernate.order_inserts", "true");
    configuration.setProperty("hibernate.connection.pool_size", "4");
    return configuration.buildSessionFactory();
  }

  static void fill() {
    factory.inTransaction(session -> {
      Shop.Label fresh = new Shop.Label("fresh");
      Shop.Label old = new Shop.Label("old");
      session.persist(fresh);
      session.persist(old);
      for (int i = 0; i < 200; i++) {
        Shop.Product product = i % 2 == 0 ? new Shop.Book("isbn-" + i) : new Shop.Machine(i * 10);
        product.name = "product " + i;
        product.price = new BigDecimal(i).movePointLeft(1).setScale(2);
        product.labels.add(i < 100 ? old : fresh);
        session.persist(product);
      }
      for (int i = 0; i < 20; i++) {
        Shop.Customer customer = new Shop.Customer();
        customer.name = "customer " + i;
        customer.state = Shop.State.values()[i % 3];
        customer.born = LocalDate.of(1980, 1, 1).plusDays(i);
        customer.since = Instant.parse("2024-02-29T12:00:00.123456Z").plusSeconds(3600L * i);
        customer.phones = new String[] {"1" + i, "2\"" + i, null};
        customer.scores = List.of(i, i + 1);
        customer.settings = Map.of("theme", i % 2 == 0 ? "dark" : "light", "quote", "it's \"so\"");
        customer.address = new Shop.Address("Street " + i, i % 4 == 0 ? "Bern" : "Basel");
        customer.keywords.addAll(Set.of("k" + i, "all"));
        customer.photo = new byte[] {0, (byte) i, -1};
        session.persist(customer);
      }
    });
  }

  static void schema() throws Exception {
    step("create_schema", () -> {
      // Hibernate drops a schema that it expects before it makes it.
      try (var connection = java.sql.DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "");
          var statement = connection.createStatement()) {
        statement.execute("create schema " + SCHEMA);
      }
      factory = factory("create");
    });
    step("validate_schema", () -> factory("validate").close());
    step("update_schema_finds_nothing_to_do", () -> factory("update").close());
    step("update_schema_adds_what_is_missing", () -> {
      factory.inTransaction(session -> {
        sql(session, "alter table app_hibernate.customer drop column photo");
        sql(session, "drop table app_hibernate.note");
        sql(session, "drop sequence app_hibernate.note_seq");
      });
      factory("update").close();
      factory("validate").close();
    });
    // After the updates: Hibernate drops the type of the enumeration, and so its column, to make it anew.
    step("batches_of_rows", App::fill);
  }

  static int sql(Session session, String statement) {
    return session.createNativeMutationQuery(statement).executeUpdate();
  }

  static Shop.Customer customer(Session session, String name) {
    return session.createQuery("from Customer where name = :name", Shop.Customer.class).setParameter("name", name).getSingleResult();
  }

  static void rows() {
    step("types_come_back", () -> factory.inTransaction(session -> {
      Shop.Customer customer = customer(session, "customer 4");
      same(LocalDate.of(1980, 1, 5), customer.born);
      same(Instant.parse("2024-02-29T16:00:00.123456Z"), customer.since);
      same(List.of(4, 5), customer.scores);
      same("2\"4", customer.phones[1]);
      same("it's \"so\"", customer.settings.get("quote"));
      same(Set.of("k4", "all"), customer.keywords);
      same(Shop.State.GONE, customer.state);
      same(7, customer.address.length());
    }));
    step("null_types", () -> factory.inTransaction(session -> {
      Shop.Customer customer = new Shop.Customer();
      customer.name = "nobody";
      session.persist(customer);
      session.flush();
      session.clear();
      Shop.Customer found = session.find(Shop.Customer.class, customer.id);
      same(true, found.phones == null && found.settings == null && found.state == null && found.address == null);
      session.remove(found);
    }));
    step("inheritance", () -> factory.inTransaction(session -> {
      List<Shop.Product> products = session.createQuery("from Product order by id", Shop.Product.class).getResultList();
      same(200, products.size());
      same("isbn-0", ((Shop.Book) products.get(0)).isbn);
      same(10, ((Shop.Machine) products.get(1)).watts);
      same(100L, session.createQuery("select count(*) from Product p where type(p) = Book", Long.class).getSingleResult());
      same(50L, session.createQuery("select count(*) from Product p where treat(p as Machine).watts >= 1000", Long.class)
          .getSingleResult());
    }));
    step("relations", () -> factory.inTransaction(session -> {
      Shop.Purchase purchase = new Shop.Purchase(customer(session, "customer 1"));
      for (Shop.Product product : session.createQuery("from Product where price < 1 order by price", Shop.Product.class)
          .setMaxResults(3).setFirstResult(2).getResultList()) {
        purchase.lines.add(new Shop.Line(purchase, product, 2));
      }
      session.persist(purchase);
      session.flush();
      session.clear();
      Shop.Purchase found = session.createQuery(
          "from Purchase p join fetch p.lines l join fetch l.product where p.customer.name = 'customer 1'",
          Shop.Purchase.class).getSingleResult();
      same(3, found.lines.size());
      same(new BigDecimal("0.20"), found.lines.get(0).product.price);
      same(new BigDecimal("1.80"), found.total);
    }));
    step("orphans_are_removed", () -> factory.inTransaction(session -> {
      Shop.Purchase found = session.createQuery("from Purchase", Shop.Purchase.class).getSingleResult();
      found.lines.remove(1);
      session.flush();
      same(2L, session.createQuery("select count(*) from Line", Long.class).getSingleResult());
    }));
    step("soft_delete", () -> factory.inTransaction(session -> {
      Shop.Note note = new Shop.Note("to be forgotten");
      session.persist(note);
      session.persist(new Shop.Note("to be kept"));
      session.flush();
      session.remove(note);
      session.flush();
      same(1L, session.createQuery("select count(*) from Note", Long.class).getSingleResult());
      same(2L, session.createNativeQuery("select count(*) from app_hibernate.note", Long.class).getSingleResult());
    }));
    step("large_text", () -> {
      String text = "é€😀".repeat(100_000);
      factory.inTransaction(session -> session.persist(new Shop.Note(text)));
      factory.inTransaction(session -> same(text, session
          .createQuery("select n.text from Note n where length(n.text) > 1000", String.class).getSingleResult()));
    });
    step("large_objects", () -> {
      factory.inTransaction(session -> {
        Shop.Note note = new Shop.Note("with a file");
        note.file = session.getLobHelper().createBlob(new byte[300_000]);
        session.persist(note);
      });
      factory.inTransaction(session -> {
        Shop.Note note = session.createQuery("from Note where text = 'with a file'", Shop.Note.class).getSingleResult();
        try {
          same(300_000L, note.file.length());
          same(300_000, note.file.getBinaryStream().readAllBytes().length);
        } catch (Exception error) {
          throw new AssertionError(error);
        }
      });
    });
  }

  static <T> List<T> query(Session session, String text, Class<T> type) {
    return session.createQuery(text, type).getResultList();
  }

  static void queries() {
    step("aggregates", () -> factory.inTransaction(session -> {
      List<Object[]> rows = query(session, "select c.state, count(*), max(c.born), listagg(c.name, ',') within group (order by c.name)"
          + " from Customer c group by c.state having count(*) > 1 order by c.state", Object[].class);
      same(3, rows.size());
      same(7L, rows.get(0)[1]);
      same(true, ((String) rows.get(0)[3]).startsWith("customer 0,customer 12,"));
    }));
    step("windows", () -> factory.inTransaction(session -> {
      List<Object[]> rows = query(session, "select p.name, row_number() over (order by p.price desc), sum(p.price) over"
          + " (order by p.id rows between 1 preceding and current row) from Product p order by p.price desc, p.id limit 3", Object[].class);
      same("product 199", rows.get(0)[0]);
      same(1L, rows.get(0)[1]);
      same(new BigDecimal("39.70"), rows.get(0)[2]);
    }));
    step("common_table_expressions", () -> factory.inTransaction(session -> {
      same(List.of("customer 19", "customer 18"), query(session,
          "with young as (select c.name name, c.born born from Customer c where c.born > {d '1980-01-10'})"
              + " select y.name from young y order by y.born desc limit 2", String.class));
      same(List.of(1, 2, 4, 8), query(session, "with steps as (select 1 as n from Label where name = 'old' union all"
          + " select s.n * 2 as n from steps s where s.n < 8) select s.n from steps s order by s.n", Integer.class));
    }));
    step("union_and_subqueries", () -> factory.inTransaction(session -> {
      same(22, query(session, "select name from Customer union all select name from Label order by 1", String.class).size());
      same(50, query(session, "from Product p where exists (select 1 from p.labels l where l.name = 'fresh')"
          + " and p.price > all (select x.price from Product x where x.name like 'product _') and type(p) = Book",
          Shop.Product.class).size());
      same(10L, query(session, "select count(*) from Customer c where size(c.keywords) = 2 and c.name in"
          + " (select 'customer ' || cast(x.id as string) from Product x) and extract(day from c.born) <= 11", Long.class)
          .get(0));
    }));
    step("functions", () -> factory.inTransaction(session -> {
      Object[] row = session.createQuery("select upper(substring(c.name, 1, 3)), locate('t', c.name), coalesce(nullif(c.name, 'x'), '-'),"
          + " c.born + 3 day, extract(year from c.since), format(c.since as 'yyyy-MM-dd HH:mm'), mod(17, 5), round(2.567, 2), left(c.name, 2),"
          + " lpad('7', 3, '0'), replace(c.name, 'customer', 'c'), trunc(c.since, month), timestampdiff(day, c.born, local date)"
          + " from Customer c where c.name = 'customer 2'", Object[].class).getSingleResult();
      same("CUS", row[0]);
      same(LocalDate.of(1980, 1, 6), row[3]);
      same(2024, row[4]);
      same("2024-02-29 14:00", row[5]);
      same("007", row[9]);
    }));
    step("arrays_and_json_functions", () -> factory.inTransaction(session -> {
      same(2L, query(session, "select count(*) from Customer c where array_contains(c.scores, 5)", Long.class).get(0));
      same(20L, query(session, "select count(*) from Customer c where array_length(c.phones) = 3", Long.class).get(0));
      same(10L, session.createNativeQuery("select count(*) from app_hibernate.customer where settings ->> 'theme' = 'dark'", Long.class)
          .getSingleResult());
      same(1L, session.createNativeQuery("select count(*) from app_hibernate.customer where '13' = any (phones)", Long.class)
          .getSingleResult());
    }));
    step("criteria", () -> factory.inTransaction(session -> {
      var builder = session.getCriteriaBuilder();
      var query = builder.createQuery(Shop.Customer.class);
      var root = query.from(Shop.Customer.class);
      query.where(builder.and(root.get("state").in(Shop.State.ACTIVE, Shop.State.NEW), builder.ilike(root.get("name"), "CUSTOMER 1%")))
          .orderBy(builder.desc(root.get("born")), builder.asc(root.get("id")));
      same(6, session.createQuery(query).getResultList().size());
    }));
    step("scroll", () -> factory.inTransaction(session -> {
      int count = 0;
      try (var results = session.createQuery("from Product order by id", Shop.Product.class).setFetchSize(20).scroll(ScrollMode.FORWARD_ONLY)) {
        while (results.next()) {
          count++;
        }
      }
      same(200, count);
    }));
    step("pages_by_key", () -> factory.inTransaction(session -> {
      Query<Shop.Product> query = session.createQuery("from Product order by price, id", Shop.Product.class);
      same(7, query.setFirstResult(193).setMaxResults(10).getResultList().size());
      same(200L, query.getResultCount());
    }));
  }

  static void changes() {
    step("bulk_update_and_delete", () -> factory.inTransaction(session -> {
      same(100, session.createMutationQuery("update Product p set p.price = p.price * 2 where id in (select x.id from Book x)").executeUpdate());
      // The rows of a class lie in two tables: Hibernate keeps their keys in a temporary table or a CTE.
      same(50, session.createMutationQuery("delete from Machine m where m.watts > 1000").executeUpdate());
      same(150L, session.createQuery("select count(*) from Product", Long.class).getSingleResult());
    }));
    step("insert_select", () -> factory.inTransaction(session -> {
      same(11, session.createMutationQuery("insert into Label (name, uses, version) select c.name, 0, 0 from Customer c where c.name like 'customer 1%'").executeUpdate());
    }));
    step("insert_or_update", () -> factory.inTransaction(session -> {
      String text = "insert into Label (name, uses) values ('old', 5), ('rare', 1) on conflict (name) do update set uses = excluded.uses + 1";
      same(2, session.createMutationQuery(text).executeUpdate());
      same(6, session.createQuery("select uses from Label where name = 'old'", Integer.class).getSingleResult());
    }));
    step("upsert", () -> {
      try (StatelessSession session = factory.openStatelessSession()) {
        session.beginTransaction();
        Shop.Label label = session.createQuery("from Label where name = 'rare'", Shop.Label.class).getSingleResult();
        label.uses = 77;
        session.upsert(label);
        session.getTransaction().commit();
        same(77, session.createQuery("select uses from Label where name = 'rare'", Integer.class).getSingleResult());
      }
    });
    step("unique_violation", () -> {
      try {
        factory.inTransaction(session -> session.persist(new Shop.Label("old")));
        throw new AssertionError("no error");
      } catch (ConstraintViolationException error) {
        same("23505", error.getSQLState());
        same("label_name", error.getConstraintName());
      }
    });
    step("foreign_key_violation", () -> {
      try {
        factory.inTransaction(session -> sql(session, "delete from app_hibernate.customer"));
        throw new AssertionError("no error");
      } catch (ConstraintViolationException error) {
        same("23503", error.getSQLState());
      }
    });
    step("check_violation", () -> {
      try {
        factory.inTransaction(session -> sql(session, "update app_hibernate.label set uses = -1"));
        throw new AssertionError("no error");
      } catch (ConstraintViolationException error) {
        same("23514", error.getSQLState());
        same("label_uses", error.getConstraintName());
      }
    });
    step("optimistic_lock", () -> {
      Shop.Label first = factory.fromTransaction(session -> session.find(Shop.Label.class, 1L));
      factory.inTransaction(session -> session.find(Shop.Label.class, 1L).uses = 9);
      first.uses = 10;
      try {
        factory.inTransaction(session -> session.merge(first));
        throw new AssertionError("no error");
      } catch (OptimisticLockException expected) {
        return;
      }
    });
    step("cast_of_an_enumeration", () -> factory.inTransaction(session ->
        // Hibernate makes casts between a named enumeration and varchar, for literals and columns of text.
        same(20, sql(session, "update app_hibernate.customer set state = (case when name is null then 'NEW' else 'ACTIVE' end)::varchar"))));
    step("procedure_and_function", () -> factory.inTransaction(session -> {
      sql(session, "create function app_hibernate.twice(n integer) returns integer language sql as 'select n * 2'");
      sql(session, "create procedure app_hibernate.shout(inout word text) language plpgsql as 'begin word := upper(word); end'");
      same(14, session.createNativeQuery("select app_hibernate.twice(7)", Integer.class).getSingleResult());
      var call = session.createStoredProcedureCall("app_hibernate.shout");
      call.registerParameter(1, String.class, jakarta.persistence.ParameterMode.INOUT);
      call.setParameter(1, "word");
      same("WORD", call.getOutputs().getOutputParameterValue(1));
    }));
  }

  static void locks() {
    step("pessimistic_lock_waits", () -> {
      CompletableFuture<Integer> second;
      try (Session session = factory.openSession()) {
        session.beginTransaction();
        session.find(Shop.Label.class, 2L, LockModeType.PESSIMISTIC_WRITE).uses = 50;
        second = CompletableFuture.supplyAsync(() -> factory.fromTransaction(
            other -> other.find(Shop.Label.class, 2L, LockModeType.PESSIMISTIC_WRITE).uses));
        TimeUnit.MILLISECONDS.sleep(200);
        same(false, second.isDone());
        session.getTransaction().commit();
      }
      same(50, second.get(10, TimeUnit.SECONDS));
    });
    step("pessimistic_lock_no_wait", () -> {
      try (Session session = factory.openSession()) {
        session.beginTransaction();
        session.find(Shop.Label.class, 2L, LockModeType.PESSIMISTIC_WRITE);
        try {
          factory.inTransaction(other -> other.createQuery("from Label where id = 2", Shop.Label.class)
              .setLockMode(LockModeType.PESSIMISTIC_WRITE).setTimeout(0)
              .setHint("jakarta.persistence.lock.timeout", 0).getSingleResult());
          throw new AssertionError("no error");
        } catch (PersistenceException expected) {
          session.getTransaction().rollback();
        }
      }
    });
    step("skip_locked", () -> {
      try (Session session = factory.openSession()) {
        session.beginTransaction();
        session.find(Shop.Label.class, 2L, LockModeType.PESSIMISTIC_WRITE);
        int free = factory.fromTransaction(other -> other.createQuery("from Label order by id", Shop.Label.class)
            .setLockMode(LockModeType.PESSIMISTIC_WRITE).setHint("jakarta.persistence.lock.timeout", LockOptions.SKIP_LOCKED)
            .getResultList().size());
        same(13, free);
        session.getTransaction().rollback();
      }
    });
    step("savepoints_by_jdbc", () -> factory.inTransaction(session -> session.doWork(connection -> {
      var savepoint = connection.setSavepoint();
      try (var statement = connection.createStatement()) {
        statement.execute("insert into app_hibernate.label (id, name, uses, version) values (1, 'x', 0, 0)");
        throw new AssertionError("no error");
      } catch (java.sql.SQLException error) {
        same("23505", error.getSQLState());
        connection.rollback(savepoint);
      }
    })));
    step("drop_schema", () -> {
      factory.inTransaction(session -> {
        sql(session, "drop function app_hibernate.twice");
        sql(session, "drop procedure app_hibernate.shout");
      });
      factory.close();
      factory("create-drop").close();
      try (var connection = java.sql.DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("PGUSER"), "");
          var tables = connection.getMetaData().getTables(null, SCHEMA, "%", new String[] {"TABLE"})) {
        same(false, tables.next());
      }
    });
  }

  public static void main(String[] arguments) throws Exception {
    report = new PrintWriter(arguments[0]);
    schema();
    rows();
    queries();
    changes();
    locks();
  }
}
