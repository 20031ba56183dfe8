-- A schema to try migrations on; 9 and 10 show that they are applied by number, not by letter.
PRAGMA user_version = 8;
CREATE TABLE note(words TEXT NOT NULL) STRICT;
