-- Schema 3: the architecture that a kernel says it ran on, where its device's name leaves it open ('' else), and the case whose outcome was
-- taken over because a kernel without tensor cores gives the same bits on every architecture ('' where the case itself was measured).
ALTER TABLE outcome ADD COLUMN device_arch TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN reused_from TEXT NOT NULL DEFAULT '';
