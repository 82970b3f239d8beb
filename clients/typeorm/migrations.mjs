// Migrations by TypeORM's own statements about tables, which look at the catalog first.
import { Table, TableCheck, TableColumn, TableForeignKey, TableIndex, TableUnique } from "typeorm";

const kind = (...labels) => new TableColumn({ name: "kind", type: "enum", enum: labels, default: `'${labels.at(-1)}'` });

export class First1700000000001 {
  name = "First1700000000001";
  async up(runner) {
    const columns = [{ name: "id", type: "int", isPrimary: true, isGenerated: true, generationStrategy: "increment" },
      { name: "label", type: "varchar", length: "20", isNullable: true, comment: "it's" }, kind("x", "y"), { name: "parent", type: "int", isNullable: true }];
    await runner.createTable(new Table({ name: "parts", columns }), true);
    await runner.createIndex("parts", new TableIndex({ name: "parts_label", columnNames: ["label"] }));
    await runner.createForeignKey("parts", new TableForeignKey({ columnNames: ["parent"], referencedTableName: "parts", referencedColumnNames: ["id"], onDelete: "SET NULL" }));
    await runner.createCheckConstraint("parts", new TableCheck({ name: "parts_check", expression: "label <> ''" }));
    await runner.query("insert into parts(label) select 'r' || g from generate_series(1, 5) g");
  }
  async down(runner) {
    await runner.dropTable("parts");
  }
}

export class Second1700000000002 {
  name = "Second1700000000002";
  async up(runner) {
    await runner.renameColumn("parts", "label", "title");
    await runner.changeColumn("parts", "kind", kind("x", "y", "z"));
    await runner.createUniqueConstraint("parts", new TableUnique({ name: "parts_title", columnNames: ["title"] }));
    await runner.addColumn("parts", new TableColumn({ name: "extra", type: "jsonb", default: "'{}'::jsonb" }));
    await runner.renameTable("parts", "pieces");
  }
  async down(runner) {
    await runner.renameTable("pieces", "parts");
    await runner.dropColumn("parts", "extra");
    await runner.dropUniqueConstraint("parts", "parts_title");
    await runner.changeColumn("parts", "kind", kind("x", "y"));
    await runner.renameColumn("parts", "title", "label");
  }
}

export class Broken1700000000003 {
  name = "Broken1700000000003";
  async up(runner) {
    await runner.query("create table gone (i int)");
    await runner.query("select 1 / (select 0)");
  }
  async down() {}
}
