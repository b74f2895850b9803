-- The same table with 100,000 rows, so that what costs the size and not the change shows.
CREATE TABLE expense (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  cents INTEGER NOT NULL,
  category TEXT NOT NULL,
  day TEXT NOT NULL,
  note TEXT
);
CREATE INDEX expense_name ON expense (name);
WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 100000)
INSERT INTO expense (id, name, cents, category, day, note)
SELECT
  i,
  printf('Receipt %06d', i),
  i * 7919 % 9000 + 150,
  CASE i % 4 WHEN 0 THEN 'transport' WHEN 1 THEN 'food' WHEN 2 THEN 'home' ELSE 'leisure' END,
  printf('2023-%02d-%02d', i % 9 + 1, i % 28 + 1),
  NULL
FROM number;
