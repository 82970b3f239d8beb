// What node-postgres and postgres.js offer. Each step that ends well is a line `pass STEP`, each other a line `fail`.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import copy from "pg-copy-streams";
import Cursor from "pg-cursor";
import QueryStream from "pg-query-stream";
import postgres from "postgres";

const url = process.env.DATABASE_URL;

async function step(name, run) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it takes too long")), 20000);
  });
  try {
    await Promise.race([run(), limit]);
    console.log(`pass ${name}`);
  } catch (error) {
    console.log(`fail ${name}`);
    console.error(`== ${name}:`, error);
  } finally {
    clearTimeout(timer);
  }
}

async function nodePostgres() {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const client = new pg.Client({ connectionString: url, application_name: "steps" });
  await client.connect();
  const at = (name, run) => step(`pg.${name}`, run);
  const one = async (text, values) => Object.values((await client.query(text, values)).rows[0])[0];

  await at("parameters_and_types", async () => {
    const cases = [
      ["select $1::int4", 42, 42], ["select $1::int8", "9007199254740993", "9007199254740993"], ["select $1::float8", 0.1, 0.1],
      ["select $1::text", "it's \\ \"so\" é😀", "it's \\ \"so\" é😀"], ["select $1::bool", true, true], ["select $1::bytea", Buffer.from([0, 255]), Buffer.from([0, 255])],
      ["select $1::jsonb", { a: [1, null] }, { a: [1, null] }], ["select $1::int4[]", [[1, 2], [3, null]], [[1, 2], [3, null]]],
      ["select $1::text[]", ["a,b", "\"", null, ""], ["a,b", "\"", null, ""]], ["select $1::timestamptz", new Date(1e12), new Date(1e12)],
      ["select $1::numeric", "1.50", "1.50"], ["select $1::uuid", "00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007"],
      ["select $1::point", "(1,2)", { x: 1, y: 2 }], ["select $1::inet", "10.0.0.1", "10.0.0.1"], ["select $1::date", null, null],
    ];
    for (const [text, value, expected] of cases) {
      assert.deepEqual(await one(text, [value]), expected, text);
    }
    const interval = await one("select $1::interval", ["1 year 2 days 03:04:05.006"]);
    assert.deepEqual({ ...interval }, { years: 1, days: 2, hours: 3, minutes: 4, seconds: 5, milliseconds: 6 });
  });

  await at("fields", async () => {
    await client.query("create temp table f (a int primary key, b varchar(7), c numeric(5, 2))");
    const { fields, command, rowCount } = await client.query({ text: "select a, b, c, a + 1 as d from f", rowMode: "array" });
    assert.deepEqual([command, rowCount], ["SELECT", 0]);
    assert.deepEqual(fields.map((field) => [field.name, field.dataTypeID, field.dataTypeModifier, field.columnID]),
      [["a", 23, -1, 1], ["b", 1043, 11, 2], ["c", 1700, (5 << 16) + 2 + 4, 3], ["d", 23, -1, 0]]);
    const { rowCount: inserted, rows } = await client.query("insert into f select n from generate_series(1, 3) n returning a");
    assert.deepEqual([inserted, rows.length], [3, 3]);
  });

  await at("several_statements", async () => {
    const results = await client.query("select 1 as a; create temp table g (x int); insert into g values (1), (2); select count(*)::int as n from g;");
    assert.deepEqual(results.map((result) => result.command), ["SELECT", "CREATE", "INSERT", "SELECT"]);
    assert.equal(results[3].rows[0].n, 2);
    assert.equal((await client.query("")).rowCount, null);
  });

  await at("named_statements", async () => {
    for (let n = 0; n < 10; n++) {
      assert.equal((await client.query({ name: "twice", text: "select $1::int * 2 as n", values: [n] })).rows[0].n, 2 * n);
    }
    assert.equal(await one("select count(*)::int from pg_prepared_statements where name = 'twice'"), 1);
    await assert.rejects(client.query({ name: "twice", text: "select 1", values: [] }), /must be unique/);
  });

  await at("errors", async () => {
    await client.query("create temp table e (a int primary key, b int not null, constraint positive check (b > 0))");
    const fails = async (text, expected) => {
      const error = await client.query(text).then(() => assert.fail("no error"), (error) => error);
      assert.ok(error instanceof pg.DatabaseError);
      for (const [key, value] of Object.entries(expected)) {
        assert.equal(error[key], value, `${key} of ${text}`);
      }
    };
    await fails("select * from nowhere", { code: "42P01", position: "15", severity: "ERROR", message: "relation \"nowhere\" does not exist" });
    await fails("insert into e values (1, -1)", { code: "23514", constraint: "positive", table: "e", detail: "Failing row contains (1, -1)." });
    await fails("insert into e values (1)", { code: "23502", column: "b" });
    await fails("insert into e values (1, 1), (1, 1)", { code: "23505", constraint: "e_pkey", detail: "Key (a)=(1) already exists." });
    await fails("selec 1", { code: "42601", position: "1" });
    await fails("do $$ begin raise exception 'no' using errcode = 'ZX001', hint = 'a hint', detail = 'why'; end $$", { code: "ZX001", hint: "a hint", detail: "why" });
  });

  await at("notices_and_parameters", async () => {
    const notice = once(client, "notice");
    await client.query("do $$ begin raise warning 'careful: %', 7; end $$");
    assert.deepEqual([(await notice)[0].message, (await notice)[0].severity], ["careful: 7", "WARNING"]);
    const status = new Promise((resolve) => client.connection.on("parameterStatus", (message) => message.parameterName === "TimeZone" && resolve(message.parameterValue)));
    await client.query("set timezone to 'Europe/Zurich'");
    assert.equal(await status, "Europe/Zurich");
    await client.query("reset timezone");
  });

  await at("notifications", async () => {
    await client.query("listen \"A channel\"");
    const heard = once(client, "notification");
    await pool.query("select pg_notify('A channel', $1)", ["é".repeat(1000)]);
    const [message] = await heard;
    assert.deepEqual([message.channel, message.payload.length, typeof message.processId], ["A channel", 1000, "number"]);
  });

  await at("cursors_and_streams", async () => {
    const cursor = client.query(new Cursor("select n from generate_series(1, 250) n"));
    assert.equal((await cursor.read(100)).length, 100);
    assert.equal((await cursor.read(200)).length, 150);
    assert.equal((await cursor.read(10)).length, 0);
    const early = client.query(new Cursor("select 1 as n from pg_proc a, pg_proc b"));
    assert.equal((await early.read(5)).length, 5);
    await early.close();
    let sum = 0;
    for await (const row of client.query(new QueryStream("select n from generate_series(1, $1::int) n", [3000], { highWaterMark: 70 }))) {
      sum += row.n;
    }
    assert.equal(sum, 4501500);
  });

  await at("copy", async () => {
    await client.query("create temp table c (a int, b text)");
    const lines = Array.from({ length: 20000 }, (_, n) => `${n}\tline ${n}\n`);
    await pipeline(Readable.from(lines), client.query(copy.from("copy c from stdin")));
    let bytes = 0;
    for await (const chunk of client.query(copy.to("copy c to stdout (format csv, header)"))) {
      bytes += chunk.length;
    }
    assert.equal(bytes, lines.join("").length + 4);
    await assert.rejects(pipeline(Readable.from(["x\ty\n"]), client.query(copy.from("copy c from stdin"))), { code: "22P02" });
    assert.equal(await one("select count(*)::int from c"), 20000);
  });

  await at("transactions_in_a_pool", async () => {
    await pool.query("create table if not exists node_counter (n int); truncate node_counter; insert into node_counter values (0)");
    await Promise.all(Array.from({ length: 40 }, async () => {
      const own = await pool.connect();
      try {
        await own.query("begin");
        const { rows } = await own.query("select n from node_counter for update");
        await own.query("update node_counter set n = $1", [rows[0].n + 1]);
        await own.query("commit");
      } finally {
        own.release();
      }
    }));
    assert.equal((await pool.query("select n from node_counter")).rows[0].n, 40);
    await pool.query("drop table node_counter");
  });

  await at("timeouts_and_ends", async () => {
    const own = new pg.Client({ connectionString: url, statement_timeout: 100, idle_in_transaction_session_timeout: 60000, lock_timeout: 1000, options: "-c search_path=pg_catalog" });
    own.on("error", () => {});
    await own.connect();
    await assert.rejects(own.query("select pg_sleep(5)"), { code: "57014" });
    assert.equal((await own.query("show search_path")).rows[0].search_path, "pg_catalog");
    const ended = new Promise((resolve) => own.once("end", resolve));
    const { pid } = (await own.query("select pg_backend_pid() as pid")).rows[0];
    await client.query("select pg_terminate_backend($1)", [pid]);
    await ended;
    await assert.rejects(new pg.Client({ connectionString: `${url}_nowhere` }).connect(), { code: "3D000" });
  });

  await client.end();
  await pool.end();
}

async function postgresJs() {
  const sql = postgres(url, { max: 4, onnotice: () => {}, transform: { undefined: null } });
  const at = (name, run) => step(`postgres_js.${name}`, run);

  await at("types", async () => {
    const [row] = await sql`select ${42}::int as a, ${"x"} as b, ${sql.json({ a: [1] })} as c, ${[1, 2]}::int[] as d, ${new Date(1e12)}::timestamptz as e,
      ${Buffer.from("ab")}::bytea as f, ${true}::bool as g, ${null} as h, ${9007199254740993n}::int8 as i, ${["a\"", "b,c"]}::text[] as j, ${undefined}::text as k`;
    assert.deepEqual([row.a, row.b, row.c, row.d, row.e.getTime(), row.f.toString(), row.g, row.h, row.i, row.j, row.k],
      [42, "x", { a: [1] }, [1, 2], 1e12, "ab", true, null, "9007199254740993", ["a\"", "b,c"], null]);
  });

  await at("helpers", async () => {
    await sql`create table js_people (id serial primary key, name text, age int, tags text[] default '{}')`;
    const people = Array.from({ length: 100 }, (_, n) => ({ name: `p${n}`, age: n }));
    assert.equal((await sql`insert into js_people ${sql(people, "name", "age")} returning id`).length, 100);
    assert.equal((await sql`update js_people set ${sql({ age: 7, name: "new" }, "age", "name")} where id = 1`).count, 1);
    assert.equal((await sql`select * from js_people where name in ${sql(["p1", "p2"])} and ${sql("age")} > ${0}`).length, 2);
    const values = [[2, "two"], [3, "three"]];
    assert.equal((await sql`update js_people set name = d.name from (values ${sql(values)}) as d (id, name) where js_people.id = d.id::int returning js_people.name`).length, 2);
    const part = sql`where age > ${90}`;
    assert.equal((await sql`select * from js_people ${part} order by ${sql("age")} desc`)[0].age, 99);
  });

  await at("cursors_and_rows", async () => {
    let count = 0;
    for await (const rows of sql`select * from js_people order by id`.cursor(30)) {
      count += rows.length;
    }
    assert.equal(count, 100);
    let each = 0;
    await sql`select * from js_people`.forEach(() => each++);
    assert.equal(each, 100);
    assert.deepEqual([...(await sql`select 1 as a, 2 as a`.values())[0]], [1, 2]);
    assert.equal((await sql`select x'41'::int as n`.raw())[0][0].toString(), "65");
  });

  await at("describe", async () => {
    const { string, types, columns } = await sql`select name, age from js_people where id = ${1} and name = ${"x"}`.describe();
    assert.deepEqual([string.includes("$2"), types, columns.map((column) => column.type)], [true, [23, 25], [25, 23]]);
  });

  await at("transactions", async () => {
    await assert.rejects(sql.begin("isolation level serializable", async (sql) => {
      await sql`delete from js_people`;
      throw new Error("back");
    }), /back/);
    await sql.begin(async (sql) => {
      await sql`update js_people set age = 1000 where id = 5`;
      await sql.savepoint(async (sql) => {
        await sql`update js_people set age = 2000 where id = 5`;
        await sql`select 1 / 0`;
      }).catch((error) => assert.equal(error.code, "22012"));
    });
    assert.equal((await sql`select age from js_people where id = 5`)[0].age, 1000);
    const both = await sql.begin((sql) => [sql`select 1 as n`, sql`select 2 as n`]);
    assert.deepEqual(both.map((rows) => rows[0].n), [1, 2]);
    await sql.begin(async (sql) => {
      await sql`insert into js_people (name) values ('prepared')`;
      await sql.prepare("js1");
    }).catch((error) => assert.equal(error.code, "55000"));
    await sql`rollback prepared 'js1'`.catch(() => {});
  });

  await at("copy", async () => {
    const into = await sql`copy js_people (name, age) from stdin`.writable();
    await pipeline(Readable.from(["a\t1\n", "b\t\\N\n"]), into);
    let text = "";
    for await (const chunk of await sql`copy (select name, age from js_people where id > 100 order by id) to stdout`.readable()) {
      text += chunk;
    }
    assert.ok(text.endsWith("a\t1\nb\t\\N\n"), text);
  });

  await at("listens", async () => {
    const heard = new Promise((resolve, reject) => sql.listen("js", resolve).then(() => sql.notify("js", "word")).catch(reject));
    assert.equal(await heard, "word");
  });

  await at("simple_and_files", async () => {
    const results = await sql.unsafe("select 1 as a; select 2 as b").simple();
    assert.deepEqual(results.map((rows) => Object.values(rows[0])[0]), [1, 2]);
    assert.equal((await sql.unsafe("select $1::text as x", ["y"], { prepare: true }))[0].x, "y");
  });

  await at("cancels", async () => {
    const long = sql`select pg_sleep(10)`;
    setTimeout(() => long.cancel(), 100);
    await assert.rejects(long, { code: "57014" });
  });

  await at("pipelined_queries", async () => {
    const all = await Promise.all(Array.from({ length: 500 }, (_, n) => sql`select ${n}::int as n`));
    assert.equal(all.reduce((sum, rows) => sum + rows[0].n, 0), 124750);
  });

  await at("own_types", async () => {
    const typed = postgres(url, { max: 1, types: { rect: { to: 600, from: [600], serialize: ({ x, y }) => `(${x},${y})`, parse: (text) => text.slice(1, -1).split(",").map(Number) } } });
    assert.deepEqual((await typed`select ${typed.types.rect({ x: 1, y: 2 })} as p`)[0].p, [1, 2]);
    await typed`create type js_mood as enum ('fine', 'bad')`;
    await typed`create table js_moods (m js_mood[], r int4range)`;
    await typed`insert into js_moods values (${"{fine,bad}"}, '[1,5)')`;
    assert.deepEqual((await typed`select * from js_moods where ${"fine"} = any (m)`)[0], { m: "{fine,bad}", r: "[1,5)" });
    await typed`drop table js_moods`;
    await typed`drop type js_mood`;
    await typed.end();
  });

  await at("schema_changes_under_prepared_statements", async () => {
    const read = () => sql`select * from js_people where id = ${1}`;
    for (let n = 0; n < 5; n++) {
      await read();
    }
    await sql`alter table js_people add column late int default 3`;
    assert.equal((await read().catch(read))[0].late, 3);
    await sql`drop table js_people`;
  });

  await sql.end();
}

await nodePostgres();
await postgresJs();
// A step that failed may have left a connection, which would keep the process.
process.exit();
