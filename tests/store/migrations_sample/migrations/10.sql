ALTER TABLE note RENAME COLUMN writer TO author;
