// A library on TypeORM. Each step that ends well is a line `pass typeorm.STEP`, each other a line `fail`.
import "reflect-metadata";
import assert from "node:assert/strict";
import { ArrayContains, DataSource, ILike, JsonContains } from "typeorm";
import { Broken1700000000003, First1700000000001, Second1700000000002 } from "./migrations.mjs";
import { Author, Book, Kinds, Tag, Total, entities } from "./schema.mjs";

const url = process.env.DATABASE_URL;
const silent = Object.fromEntries(["logQuery", "logQueryError", "logQuerySlow", "logSchemaBuild", "logMigration", "log"].map((name) => [name, () => {}]));
const open = (version, more = {}) => new DataSource({ type: "postgres", url, entities: entities(version), logger: silent, ...more }).initialize();
const plain = (value) => JSON.parse(JSON.stringify(value));
let db;

async function step(name, run) {
  try {
    await run();
    console.log(`pass typeorm.${name}`);
  } catch (error) {
    console.log(`fail typeorm.${name}`);
    console.error(`== ${name}:`, error);
  }
}

// What synchronize would do now.
const pending = async () => (await db.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query);

await step("synchronize", async () => {
  db = await open(1);
  await db.query("create schema other");
  await db.synchronize();
});

await step("synchronize_again_finds_one_key_only", async () => {
  // TypeORM asks for both keys; the database has made one of them.
  assert.deepEqual(await pending(), ["ALTER TABLE \"other\".\"kinds\" ADD CONSTRAINT \"kinds_twice\" UNIQUE (\"day\", \"number\")"]);
});

await step("tables_of_the_catalog", async () => {
  const runner = db.createQueryRunner();
  const [authors, books, kinds] = (await runner.getTables(["authors", "books", "other.kinds"])).sort((a, b) => (a.name < b.name ? -1 : 1));
  await runner.release();
  const shown = (table) => Object.fromEntries(table.columns.map((column) => [column.name, [column.type, column.length, column.default, column.isArray].join()]));
  assert.deepEqual(shown(books).title, "character varying,,,false");
  assert.deepEqual(shown(books).states, "enum,,'{a}',true");
  assert.deepEqual(shown(books).opens, "time without time zone,,'08:30:00',false");
  assert.deepEqual(shown(authors).name, "character varying,100,,false");
  assert.deepEqual(shown(kinds).numbers, "integer,,,true");
  assert.deepEqual(authors.indices.map((index) => [index.name, index.isUnique, index.where]).sort(), [["authors_mail", true, "(deleted IS NULL)"], ["authors_name", false, ""]]);
  assert.deepEqual(books.foreignKeys.map((key) => [key.onDelete, key.onUpdate, key.referencedTableName]), [["CASCADE", "RESTRICT", "authors"]]);
  assert.deepEqual(books.uniques.map((unique) => [unique.name, unique.columnNames]), [["books_title", ["title", "author_id"]]]);
});

await step("save_a_graph", async () => {
  const books = [{ title: "One", state: "out", states: ["a", "b"], tags: [{ word: "Math" }, { word: "old" }] }, { title: "Two", price: "3.25", pages: 12 }];
  await db.manager.save(Author, [{ name: "Ada", email: "ada@x.org", born: "1815-12-10", about: { a: [1, null, "é"] }, nicknames: ["a", "b,\"c\""], books }, { name: "Bob", books: [{ title: "Three" }] }, { name: "Cyd" }]);
  const found = await db.manager.find(Author, { relations: { books: { tags: true } }, order: { id: "ASC", books: { id: "DESC" }, } });
  assert.deepEqual(found.map((author) => author.books.map((book) => book.search)), [["TWO", "ONE"], ["THREE"], []]);
  assert.deepEqual([found[0].about, found[0].nicknames, found[0].born, found[0].version], [{ a: [1, null, "é"] }, ["a", "b,\"c\""], "1815-12-10", 1]);
  assert.deepEqual(found[0].books[1].tags.map((tag) => tag.word).sort(), ["Math", "old"]);
});

await step("types", async () => {
  const row = { day: "2024-02-29", number: 1, ranges: "[1,5)", many: "{[1,2],[5,6]}", address: "10.0.0.1/8", bits: "1010", money: "$1,234.50", point: "(1.5,2)", pairs: { a: "1", b: null }, numbers: [1, null, 3], when: "10:00:00.126+02", raw: Buffer.from([0, 255]), ago: "3 days" };
  await db.manager.save(Kinds, row);
  const found = plain(await db.manager.findOneBy(Kinds, { number: 1 }));
  assert.deepEqual([found.letters, found.real, found.ranges, found.many, found.address, found.bits, found.money, found.point, found.pairs, found.numbers, found.when, found.raw.data, found.ago],
    ["x    ", 1.25, "[1,5)", "{[1,2],[5,6]}", "10.0.0.1/8", "1010", "$1,234.50", { x: 1.5, y: 2 }, "\"a\"=>\"1\", \"b\"=>NULL", [1, null, 3], "10:00:00.13+02", [0, 255], { days: 3 }]);
});

await step("find", async () => {
  const count = (where) => db.manager.countBy(Author, where);
  assert.deepEqual([await count({ name: ILike("%B%") }), await count({ about: JsonContains({ a: [1] }) }), await count({ nicknames: ArrayContains(["a"]) })], [1, 1, 1]);
  const [rows, all] = await db.manager.findAndCount(Author, { relations: { books: true }, take: 2, skip: 1, order: { name: "ASC" } });
  assert.deepEqual([rows.map((row) => row.name), all], [["Bob", "Cyd"], 3]);
  assert.deepEqual((await db.manager.find(Total, { order: { id: "ASC" } })).map((row) => row.books), ["2", "1", "0"]);
});

await step("query_builder", async () => {
  const authors = db.getRepository(Author).createQueryBuilder("a");
  const joined = await authors.clone().leftJoinAndSelect("a.books", "b", "b.title <> :title", { title: "One" }).where("a.id IN (:...ids)", { ids: [1, 2, 3] }).orderBy("a.name", "DESC", "NULLS LAST").take(2).getMany();
  assert.deepEqual(joined.map((author) => [author.name, author.books.length]), [["Cyd", 0], ["Bob", 1]]);
  const counted = await authors.clone().addCommonTableExpression("SELECT author_id, count(*) n FROM books GROUP BY author_id", "c").innerJoin("c", "c", "c.author_id = a.id").select(["a.name AS name", "c.n AS n"]).orderBy("a.id").getRawMany();
  assert.deepEqual(counted, [{ name: "Ada", n: "2" }, { name: "Bob", n: "1" }]);
  const last = await db.getRepository(Book).createQueryBuilder("b").distinctOn(["b.author_id"]).orderBy("b.author_id").addOrderBy("b.id", "DESC").getMany();
  assert.deepEqual(last.map((book) => book.title), ["Two", "Three"]);
});

await step("changes", async () => {
  const result = await db.manager.upsert(Author, [{ name: "Ada L", email: "ada@x.org" }, { name: "Dan", email: "dan@x.org" }], ["email"]);
  assert.equal(result.identifiers[0].id, 1);
  const raised = await db.createQueryBuilder().update(Book).set({ price: () => "price * 2" }).where("title = 'Two'").returning(["price", "search"]).execute();
  assert.deepEqual(raised.raw, [{ price: "6.50", search: "TWO" }]);
  const ignored = await db.createQueryBuilder().insert().into(Tag).values([{ word: "MATH" }, { word: "new" }]).orIgnore().returning("word").execute();
  assert.deepEqual(ignored.raw, [{ word: "new" }]);
  await db.manager.softDelete(Author, { name: "Cyd" });
  assert.deepEqual([await db.manager.count(Author), await db.manager.count(Author, { withDeleted: true })], [3, 4]);
  const made = await db.manager.insert(Kinds, Array.from({ length: 1000 }, (_, number) => ({ day: "2024-01-01", number })));
  assert.equal(made.identifiers.length, 1000);
});

await step("transactions", async () => {
  await db.transaction("REPEATABLE READ", async (outer) => {
    await outer.save(Tag, { word: "kept" });
    await outer.transaction(async (inner) => {
      await inner.save(Tag, { word: "lost" });
      throw new Error("back");
    }).catch(() => {});
    const locked = await outer.createQueryBuilder(Author, "a").setLock("pessimistic_write", undefined, ["a"]).setOnLocked("skip_locked").leftJoinAndSelect("a.books", "b").where("a.id = 1").getOne();
    assert.equal(locked.books.length, 2);
  });
  assert.deepEqual((await db.manager.find(Tag, { order: { word: "ASC" } })).map((tag) => tag.word).sort(), ["Math", "kept", "new", "old"]);
});

await step("errors", async () => {
  const fails = (promise, code) => assert.rejects(promise, (error) => error.driverError.code === code);
  await fails(db.manager.insert(Tag, { word: "KEPT" }), "23505");
  await fails(db.query("insert into books (title, author_id) values ('x', 999)"), "23503");
  await fails(db.manager.insert(Book, { title: "x", state: "nope" }), "22P02");
  await fails(db.manager.insert(Author, { name: "x".repeat(130) }), "22001");
});

await step("second_version", async () => {
  await db.destroy();
  db = await open(2);
  assert.ok((await pending()).includes("ALTER TABLE \"authors\" ADD \"score\" numeric(12,2) NOT NULL DEFAULT '0'"));
  await db.synchronize();
  const left = (await pending()).filter((query) => !query.includes("kinds_twice"));
  assert.deepEqual(left, []);
  assert.deepEqual((await db.manager.find(Book, { order: { id: "ASC" } })).map((book) => book.state), ["out", "in", "in"]);
});

await step("migrations", async () => {
  await db.destroy();
  db = await open(2, { migrations: [First1700000000001, Second1700000000002], migrationsTransactionMode: "all" });
  assert.equal((await db.runMigrations()).length, 2);
  assert.equal(await db.showMigrations(), false);
  assert.deepEqual(await db.query("select title, kind, extra from pieces order by id limit 1"), [{ title: "r1", kind: "y", extra: {} }]);
  await db.undoLastMigration();
  assert.deepEqual(await db.query("select label, kind from parts order by id limit 1"), [{ label: "r1", kind: "y" }]);
  await db.undoLastMigration({ transaction: "none" });
  assert.deepEqual(await db.query("select to_regclass('parts') as table, count(*)::int as n from migrations"), [{ table: null, n: 0 }]);
});

await step("broken_migration", async () => {
  await db.destroy();
  db = await open(2, { migrations: [Broken1700000000003] });
  await assert.rejects(db.runMigrations(), (error) => error.driverError.code === "22012");
  assert.deepEqual(await db.query("select to_regclass('gone') as table"), [{ table: null }]);
});

await step("drop", async () => {
  await db.dropDatabase();
  assert.deepEqual(await db.query("select table_name from information_schema.tables where table_schema in ('public', 'other')"), []);
});

await db.destroy();
