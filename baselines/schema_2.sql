-- Schema 2: inputs recorded in a file (attention_case.inputs, '' where a law generates them), and how much memory one call takes.
ALTER TABLE attention_case ADD COLUMN inputs TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN peak_memory_bytes INTEGER;  -- NULL unless timed
