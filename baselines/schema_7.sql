-- Schema 7: what the suite expected of a case (its entry expect_failure); '' where it expected nothing.
ALTER TABLE outcome ADD COLUMN expected_issue TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN expected_expires TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN expected_reason TEXT NOT NULL DEFAULT '';
