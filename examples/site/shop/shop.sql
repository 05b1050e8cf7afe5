CREATE TABLE goods (name TEXT, price INTEGER, stock INTEGER);
INSERT INTO goods VALUES ('lock', 1250, 7), ('hinge', 340, 40), ('bell', 899, 0);
