CREATE VIEW v_note AS SELECT words, author FROM note;
