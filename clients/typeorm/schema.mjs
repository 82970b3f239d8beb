// The entities, of the first version and of the second.
import { EntitySchema } from "typeorm";

export class Author {}
export class Book {}
export class Tag {}
export class Kinds {}
export class Total {}

export const entities = (version) => [
  new EntitySchema({
    name: "Author", target: Author, tableName: "authors",
    columns: {
      id: { type: "int", primary: true, generated: "increment" },
      name: { type: "varchar", length: 100 },
      email: { type: "varchar", nullable: true, unique: true },
      born: { type: "date", nullable: true },
      about: { type: "jsonb", default: {} },
      nicknames: { type: "text", array: true, default: "{}" },
      created: { type: "timestamptz", createDate: true },
      updated: { type: "timestamp", updateDate: true, precision: 3 },
      deleted: { type: "timestamptz", deleteDate: true, nullable: true },
      version: { type: "int", version: true },
      ...(version > 1 ? { score: { type: "numeric", precision: 12, scale: 2, default: 0 }, bio: { type: "text", nullable: true, comment: "what he's about" } } : {}),
    },
    indices: [{ name: "authors_name", columns: ["name"] }, { name: "authors_mail", columns: ["email", "name"], unique: true, where: "\"deleted\" IS NULL" }],
    checks: version > 1 ? [{ name: "authors_score", expression: "\"score\" >= 0" }] : [],
    relations: { books: { type: "one-to-many", target: "Book", inverseSide: "author", cascade: true } },
  }),
  new EntitySchema({
    name: "Book", target: Book, tableName: "books",
    columns: {
      id: { type: "bigint", primary: true, generated: "identity", generatedIdentity: "BY DEFAULT" },
      title: { type: "varchar" },
      state: { type: "enum", enum: version > 1 ? ["in", "out", "lost", "sold"] : ["in", "out", "lost"], default: "in" },
      states: { type: "enum", enum: ["a", "b"], array: true, default: ["a"], enumName: "book_kind" },
      price: { type: "decimal", precision: 10, scale: 2, nullable: true },
      pages: { type: "smallint", nullable: true, default: version > 1 ? 7 : 1 },
      opens: { type: "time", default: "08:30:00" },
      search: { type: "varchar", asExpression: "upper(\"title\")", generatedType: "STORED", nullable: true },
    },
    uniques: [{ name: "books_title", columns: ["title", "author"], deferrable: "INITIALLY DEFERRED" }],
    relations: {
      author: { type: "many-to-one", target: "Author", joinColumn: { name: "author_id" }, onDelete: version > 1 ? "SET NULL" : "CASCADE", onUpdate: "RESTRICT", inverseSide: "books" },
      tags: { type: "many-to-many", target: "Tag", joinTable: { name: "book_tags" }, cascade: true },
    },
  }),
  new EntitySchema({
    name: "Tag", target: Tag, tableName: "tags",
    columns: { id: { type: "uuid", primary: true, generated: "uuid" }, word: { type: "citext", unique: true } },
  }),
  new EntitySchema({
    name: "Kinds", target: Kinds, schema: "other", tableName: "kinds",
    columns: {
      day: { type: "date", primary: true }, number: { type: "int", primary: true },
      letters: { type: "char", length: 5, default: "x" }, real: { type: "real", default: 1.25 }, ranges: { type: "int4range", nullable: true },
      many: { type: "nummultirange", nullable: true }, address: { type: "inet", nullable: true }, bits: { type: "bit", length: 4, nullable: true },
      money: { type: "money", nullable: true }, point: { type: "point", nullable: true }, pairs: { type: "hstore", nullable: true },
      numbers: { type: "int", array: true, nullable: true }, when: { type: "timetz", precision: 2, nullable: true }, raw: { type: "bytea", nullable: true },
      since: { type: "timestamp", precision: 0, default: () => "CURRENT_TIMESTAMP(0)" }, ago: { type: "interval", nullable: true },
    },
    // The same columns as the primary key: the database makes one of both.
    uniques: [{ name: "kinds_twice", columns: ["day", "number"] }],
  }),
  new EntitySchema({
    name: "Total", target: Total, type: "view", tableName: "totals",
    expression: "SELECT a.id AS id, a.name AS name, count(b.id) AS books FROM authors a LEFT JOIN books b ON b.author_id = a.id GROUP BY a.id",
    columns: { id: { type: "int" }, name: { type: "varchar" }, books: { type: "bigint" } },
  }),
];
