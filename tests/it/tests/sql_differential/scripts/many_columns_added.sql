-- Columns are added more often than a table has layouts: it is written anew then, and nobody sees that.
CREATE TABLE many (id int PRIMARY KEY, v text DEFAULT 'v');
CREATE INDEX many_v ON many (v);
INSERT INTO many SELECT g, 'row ' || g FROM generate_series(1, 5) g;
CREATE TABLE bare (id int);
DO $$ BEGIN
  FOR i IN 1 .. 300 LOOP
    EXECUTE format('ALTER TABLE many ADD COLUMN c%s int DEFAULT %s', i, i);
    IF i % 7 <> 0 THEN EXECUTE format('ALTER TABLE many DROP COLUMN c%s', i); END IF;
    EXECUTE format('ALTER TABLE bare ADD COLUMN c%s text', i);
    IF i % 50 = 0 THEN EXECUTE format('INSERT INTO many (id) VALUES (%s)', 1000 + i); END IF;
  END LOOP;
END $$;
SELECT * FROM many ORDER BY id;
SELECT id FROM many WHERE v = 'row 3';
SELECT count(*) FROM pg_attribute WHERE attrelid = 'bare'::regclass AND attnum > 0 AND NOT attisdropped;
INSERT INTO bare (id, c300) VALUES (1, 'x');
SELECT id, c1, c299, c300 FROM bare;
-- Rolled back again and again.
CREATE TABLE tried (id int);
INSERT INTO tried VALUES (1), (2);
DO $$ BEGIN
  FOR i IN 1 .. 300 LOOP
    BEGIN
      ALTER TABLE tried ADD COLUMN c int DEFAULT 3;
      RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
  END LOOP;
END $$;
ALTER TABLE tried ADD COLUMN missing int NOT NULL;
ALTER TABLE tried ADD COLUMN late int NOT NULL DEFAULT 4, ADD COLUMN twice int GENERATED ALWAYS AS (id * 2) STORED;
ALTER TABLE tried ADD COLUMN nothing text;
SELECT * FROM tried ORDER BY id;
UPDATE tried SET nothing = 'n' WHERE id = 2;
SELECT * FROM tried ORDER BY id;
DROP TABLE many, bare, tried;
