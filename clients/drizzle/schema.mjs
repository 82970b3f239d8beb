// The tables of a library, as Drizzle declares them.
import { sql } from "drizzle-orm";
import {
  bigserial, boolean, check, date, foreignKey, index, inet, integer, interval, jsonb, numeric, pgEnum, pgSchema, pgSequence, pgTable,
  pgView, primaryKey, serial, text, time, timestamp, unique, uniqueIndex, uuid, varchar,
} from "drizzle-orm/pg-core";

export const state = pgEnum("state", ["in", "out", "lost"]);
export const tickets = pgSequence("tickets", { startWith: 100, increment: 5, cache: 3 });
export const archive = pgSchema("archive");

export const authors = pgTable("authors", {
  id: integer("id").primaryKey().generatedAlwaysAsIdentity({ startWith: 10 }),
  name: varchar("name", { length: 80 }).notNull(),
  born: date("born"),
  about: jsonb("about").$default(() => ({})),
}, (t) => [uniqueIndex("authors_name").on(sql`lower(${t.name})`)]);

export const books = pgTable("books", {
  id: bigserial("id", { mode: "number" }).primaryKey(),
  key: uuid("key").defaultRandom().unique(),
  authorId: integer("author_id").notNull().references(() => authors.id, { onDelete: "cascade", onUpdate: "restrict" }),
  title: text("title").notNull(),
  state: state("state").default("in").notNull(),
  price: numeric("price", { precision: 10, scale: 2 }).default("9.50"),
  tags: text("tags").array().default(sql`'{}'::text[]`),
  loan: interval("loan"),
  opens: time("opens"),
  source: inet("source"),
  good: boolean("good").default(true),
  made: timestamp("made", { withTimezone: true, precision: 3 }).defaultNow(),
  search: text("search").generatedAlwaysAs(sql`upper(title)`),
}, (t) => [
  index("books_by_author").on(t.authorId, t.title.desc().nullsLast()),
  index("books_lost").on(t.state).where(sql`state = 'lost'`),
  check("books_price", sql`${t.price} >= 0`),
  unique("books_title").on(t.authorId, t.title).nullsNotDistinct(),
]);

export const editions = archive.table("editions", {
  book: integer("book").notNull(),
  number: serial("number"),
  previous: integer("previous"),
}, (t) => [
  primaryKey({ columns: [t.book, t.number] }),
  foreignKey({ columns: [t.book, t.previous], foreignColumns: [t.book, t.number], name: "editions_previous" }),
]);

export const lost = pgView("lost", { id: integer("id"), title: text("title") }).as(sql`select id, title from books where state = 'lost'`);
