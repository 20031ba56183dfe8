-- Schema 9. What a failure is put down to, one sentence for people; '' where none is known or none was looked for.
ALTER TABLE outcome ADD COLUMN cause TEXT NOT NULL DEFAULT '';
-- The architecture of the GPU as its worker tells it, also where no kernel described what it launched; '' on the host.
ALTER TABLE outcome ADD COLUMN device_facts_arch TEXT NOT NULL DEFAULT '';
