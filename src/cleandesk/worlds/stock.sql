CREATE TABLE stock (
    id TEXT PRIMARY KEY,
    item TEXT NOT NULL,
    warehouse TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    UNIQUE (item, warehouse)
);

CREATE TABLE reservations (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    warehouse TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0)
);

INSERT INTO stock (id, item, warehouse, quantity) VALUES
    ('HZ bolt', 'bolt', 'HZ', 1),
    ('HZ nut', 'nut', 'HZ', 3),
    ('SZ bolt', 'bolt', 'SZ', 7),
    ('SZ nut', 'nut', 'SZ', 5);
