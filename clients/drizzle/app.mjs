// A library on Drizzle. Each step that ends well is a line `pass drizzle.STEP`, each other a line `fail`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import {
  aliasedTable, and, arrayContains, asc, avg, count, countDistinct, desc, eq, exists, gt, gte, ilike, inArray, isNull, lt, not, notInArray, or, relations, sql, sum,
} from "drizzle-orm";
import { drizzle as overPg } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { union, exceptAll, intersect } from "drizzle-orm/pg-core";
import { drizzle as overPostgres } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgres from "postgres";
import * as tables from "./schema.mjs";

const { authors, books, editions, lost } = tables;
const relationsOf = {
  authorsRelations: relations(authors, ({ many }) => ({ books: many(books) })),
  booksRelations: relations(books, ({ one }) => ({ author: one(authors, { fields: [books.authorId], references: [authors.id] }) })),
};
const schema = { ...tables, ...relationsOf };
const url = process.env.DATABASE_URL;
const pool = new pg.Pool({ connectionString: url });
const client = postgres(url, { onnotice: () => {} });

async function step(name, run) {
  try {
    await run();
    console.log(`pass drizzle.${name}`);
  } catch (error) {
    console.log(`fail drizzle.${name}`);
    console.error(`== ${name}:`, error, error.cause ?? "");
  }
}

function kit(out, ...parameters) {
  const environment = { ...process.env, MOTE_CLIENT_OUT: out };
  const options = { env: environment, stdio: ["ignore", "pipe", "pipe"], timeout: 60000 };
  return execFileSync("node_modules/.bin/drizzle-kit", [...parameters, "--config=drizzle.config.mjs"], options).toString();
}

rmSync("drizzle", { recursive: true, force: true });
rmSync("found", { recursive: true, force: true });
const db = overPg(pool, { schema });

await step("generate_and_migrate", async () => {
  kit("drizzle", "generate", "--name=first");
  await migrate(db, { migrationsFolder: "drizzle" });
  await migrate(db, { migrationsFolder: "drizzle" });
  assert.equal((await pool.query("select count(*)::int as n from drizzle.__drizzle_migrations")).rows[0].n, 1);
});

// What drizzle-kit reads from the catalog, as the statements that would make it again.
let found = "";

await step("introspection", async () => {
  kit("found", "introspect");
  found = readdirSync("found").filter((name) => name.endsWith(".sql")).map((name) => readFileSync(`found/${name}`, "utf8")).join();
  for (const part of ["\"authors_name\"", "books_lost", "GENERATED ALWAYS AS IDENTITY", "ON DELETE cascade ON UPDATE restrict", "numeric(10, 2) DEFAULT '9.50'",
    "upper(title)", "CREATE VIEW", "INCREMENT BY 5", "CONSTRAINT \"books_price\" CHECK", "timestamp(3)"]) {
    assert.ok(found.includes(part), `${part} in ${found}`);
  }
});

await step("introspection_of_expressions", async () => {
  for (const part of ["WHERE (state = 'lost'::state)", "CHECK (price >= (0)::numeric)", "AS (SELECT books.id, books.title FROM books WHERE books.state = 'lost'::state)"]) {
    assert.ok(found.includes(part), `${part} in ${found}`);
  }
});

await step("push_finds_nothing_to_do", async () => {
  const said = kit("drizzle", "push", "--force", "--verbose");
  assert.match(said, /No changes detected|Changes applied/);
});

for (const [driver, db] of [["pg", overPg(pool, { schema })], ["postgres_js", overPostgres(client, { schema })]]) {
  const at = (name, run) => step(`${driver}.${name}`, run);

  await at("insert", async () => {
    await db.delete(authors);
    const made = await db.insert(authors).values(["Ada", "Bob", "Cyd"].map((name, n) => ({ name, born: `19${n}0-02-28`, about: { name, list: [n, null, "é"] } }))).returning();
    assert.equal(made.length, 3);
    assert.deepEqual(made[2].about, { name: "Cyd", list: [2, null, "é"] });
    assert.equal(made[1].born, "1910-02-28");
    const rows = Array.from({ length: 60 }, (_, n) => ({
      authorId: made[n % 2].id, title: `Title ${n}`, state: ["in", "out", "lost"][n % 3], price: `${n}.25`, tags: [`t${n % 4}`, "a,\"b\""], loan: `${n} days`,
      opens: "08:30:00", source: "10.0.0.1", made: new Date(Date.UTC(2024, 1, 29, 0, 0, n)),
    }));
    assert.equal((await db.insert(books).values(rows).returning({ id: books.id })).length, 60);
  });

  await at("types", async () => {
    const [book] = await db.select().from(books).where(eq(books.title, "Title 7"));
    assert.deepEqual([book.state, book.price, book.tags, book.loan, book.opens, book.source, book.search], ["out", "7.25", ["t3", "a,\"b\""], "7 days", "08:30:00", "10.0.0.1", "TITLE 7"]);
    assert.equal(book.made.toISOString(), "2024-02-29T00:00:07.000Z");
  });

  await at("filters", async () => {
    const n = async (where) => db.$count(books, where);
    assert.equal(await n(and(eq(books.state, "lost"), gt(books.price, "30"))), 10);
    assert.equal(await n(arrayContains(books.tags, ["t1"])), 15);
    assert.equal(await n(or(ilike(books.title, "title 1%"), inArray(books.title, ["Title 2", "Title 3"]))), 13);
    assert.equal(await n(and(not(isNull(books.loan)), notInArray(books.state, ["in", "out"]), lt(books.made, new Date(Date.UTC(2024, 1, 29, 0, 0, 30))))), 10);
    assert.equal(await n(sql`${books.loan} >= interval '50 days'`), 10);
  });

  await at("joins_and_groups", async () => {
    const other = aliasedTable(authors, "other");
    const rows = await db.select({ name: authors.name, books: count(books.id), states: countDistinct(books.state), sum: sum(books.price), mean: avg(books.price) })
      .from(authors).leftJoin(books, eq(books.authorId, authors.id)).leftJoin(other, eq(other.id, authors.id))
      .groupBy(authors.id).having(gte(count(books.id), 0)).orderBy(asc(authors.name));
    assert.deepEqual(rows.map((row) => [row.name, row.books, row.states, row.sum]), [["Ada", 30, 3, "877.50"], ["Bob", 30, 3, "907.50"], ["Cyd", 0, 0, null]]);
  });

  await at("relations", async () => {
    const found = await db.query.authors.findMany({
      columns: { name: true }, orderBy: desc(authors.name),
      with: { books: { columns: { title: true, price: true }, where: eq(books.state, "lost"), orderBy: desc(books.price), limit: 2, with: { author: true } } },
    });
    assert.deepEqual(found[0], { name: "Cyd", books: [] });
    assert.deepEqual(found[2].books.map((book) => [book.title, Number(book.price), book.author.name]), [["Title 56", 56.25, "Ada"], ["Title 50", 50.25, "Ada"]]);
  });

  await at("subqueries_and_with", async () => {
    const dear = db.$with("dear").as(db.select({ author: books.authorId, price: books.price }).from(books).where(gt(books.price, "50")));
    const rows = await db.with(dear).select({ name: authors.name, n: count() }).from(dear).innerJoin(authors, eq(authors.id, dear.author)).groupBy(authors.name).orderBy(authors.name);
    assert.deepEqual(rows, [{ name: "Ada", n: 5 }, { name: "Bob", n: 5 }]);
    const place = db.select({ title: books.title, place: sql`rank() over (partition by ${books.authorId} order by ${books.price} desc)`.mapWith(Number).as("place") }).from(books).as("place");
    assert.deepEqual((await db.select().from(place).where(eq(place.place, 1)).orderBy(place.title)).map((row) => row.title), ["Title 58", "Title 59"]);
    const without = await db.select({ name: authors.name }).from(authors).where(not(exists(db.select().from(books).where(eq(books.authorId, authors.id)))));
    assert.deepEqual(without, [{ name: "Cyd" }]);
    const first = await db.selectDistinctOn([books.authorId], { title: books.title }).from(books).orderBy(books.authorId, desc(books.id));
    assert.deepEqual(first.map((row) => row.title), ["Title 58", "Title 59"]);
  });

  await at("set_operations", async () => {
    const names = () => db.select({ name: authors.name }).from(authors);
    assert.equal((await union(names(), db.select({ name: books.title }).from(books)).orderBy(sql`1`).limit(4)).length, 4);
    assert.equal((await exceptAll(names(), db.select({ name: authors.name }).from(authors).where(eq(authors.name, "Ada")))).length, 2);
    assert.equal((await intersect(names(), names())).length, 3);
  });

  await at("changes", async () => {
    const ada = db.select({ id: authors.id }).from(authors).where(eq(authors.name, "Ada"));
    assert.equal((await db.update(books).set({ price: sql`${books.price} * 2`, state: "lost" }).where(and(inArray(books.authorId, ada), lt(books.price, "10"))).returning()).length, 5);
    const joined = await db.update(books).set({ source: null }).from(authors).where(and(eq(books.authorId, authors.id), eq(authors.name, "Bob"))).returning({ name: authors.name, title: books.title });
    assert.equal(joined.length, 30);
    assert.equal((await db.select().from(lost)).length, 23);
    assert.equal((await db.delete(books).where(eq(books.title, "Title 59")).returning()).length, 1);
  });

  await at("upsert", async () => {
    const [{ id }] = await db.select({ id: authors.id }).from(authors).where(eq(authors.name, "Ada"));
    const insert = () => db.insert(books).values({ authorId: id, title: "Title 0", price: "1" });
    const [book] = await insert().onConflictDoUpdate({ target: [books.authorId, books.title], set: { price: sql`excluded.price + 1` }, setWhere: sql`books.price < 100` }).returning();
    assert.equal(book.price, "2.00");
    assert.equal((await insert().onConflictDoNothing().returning()).length, 0);
  });

  await at("errors", async () => {
    const fails = async (promise, code, constraint) => assert.rejects(promise, (error) => {
      const cause = error.cause ?? error;
      assert.deepEqual([cause.code, cause.constraint ?? cause.constraint_name], [code, constraint]);
      return true;
    });
    await fails(db.insert(books).values({ authorId: -1, title: "x" }), "23503", "books_author_id_authors_id_fk");
    await fails(db.insert(authors).values({ name: "ADA" }), "23505", "authors_name");
    await fails(db.update(books).set({ price: "-1" }), "23514", "books_price");
  });

  await at("transactions", async () => {
    await db.delete(editions);
    await assert.rejects(db.transaction(async (tx) => {
      await tx.insert(editions).values({ book: 1 });
      await tx.transaction(async (inner) => {
        await inner.insert(editions).values({ book: 2 });
        inner.rollback();
      }).catch(() => {});
      assert.equal(await tx.$count(editions), 1);
      tx.rollback();
    }, { isolationLevel: "serializable", accessMode: "read write", deferrable: true }));
    assert.equal(await db.$count(editions), 0);
    await db.transaction(async (tx) => {
      await tx.select().from(authors).where(eq(authors.name, "Ada")).for("update");
      const free = await overPg(pool).select({ name: authors.name }).from(authors).orderBy(authors.name).for("update", { skipLocked: true });
      assert.deepEqual(free.map((row) => row.name), ["Bob", "Cyd"]);
    });
  });

  await at("prepared", async () => {
    const prepared = db.select({ id: books.id }).from(books).where(eq(books.title, sql.placeholder("title"))).limit(sql.placeholder("limit")).prepare(`of_${driver}`);
    for (let n = 10; n < 20; n++) {
      assert.equal((await prepared.execute({ title: `Title ${n}`, limit: 5 })).length, 1);
    }
  });
}

await pool.end();
await client.end();
