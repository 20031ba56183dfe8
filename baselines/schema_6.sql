-- Schema 6: softcap is joined by the other features of a problem. What was stored before has none of them.
ALTER TABLE attention_case ADD COLUMN alibi TEXT NOT NULL DEFAULT 'none';
ALTER TABLE attention_case ADD COLUMN sinks TEXT NOT NULL DEFAULT 'none';
ALTER TABLE attention_case ADD COLUMN kv_scales TEXT NOT NULL DEFAULT 'tensor';
ALTER TABLE attention_case ADD COLUMN view TEXT NOT NULL DEFAULT 'plain';
