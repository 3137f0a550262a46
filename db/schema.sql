-- smemtune's results database, version 1.
--
-- Words (status, stage, kind, outcome) are stored as text and only ever added to. Times are in
-- milliseconds, moments in seconds since 1970 UTC, sizes in bytes. JSON columns are read by
-- columns.cpp; no CHECK looks into them, as SQLite lets no JSON function run from a schema that is
-- not trusted. A later version never edits this file: it adds a migration (migrations.cpp).

-- What "the same device" means: two boards of one model share their results.
CREATE TABLE device_model (
  id INTEGER PRIMARY KEY,
  key_sha256 TEXT NOT NULL UNIQUE CHECK (length(key_sha256) = 64),  -- device_model_key()
  kind TEXT NOT NULL CHECK (kind IN ('gpu', 'cpu')),
  name TEXT NOT NULL,
  architecture TEXT NOT NULL,
  compute_major INTEGER NOT NULL,
  compute_minor INTEGER NOT NULL,
  sm_count INTEGER NOT NULL,
  warp_size INTEGER NOT NULL,
  max_threads_per_block INTEGER NOT NULL,
  max_threads_per_sm INTEGER NOT NULL,
  max_blocks_per_sm INTEGER NOT NULL,
  registers_per_block INTEGER NOT NULL,
  registers_per_sm INTEGER NOT NULL,
  shared_bytes_per_block INTEGER NOT NULL,
  max_shared_bytes_per_block INTEGER NOT NULL,
  shared_bytes_per_sm INTEGER NOT NULL,
  reserved_shared_bytes_per_block INTEGER NOT NULL,
  constant_bytes INTEGER NOT NULL,
  max_block_dim_x INTEGER NOT NULL,
  max_block_dim_y INTEGER NOT NULL,
  max_block_dim_z INTEGER NOT NULL,
  max_grid_dim_x INTEGER NOT NULL,
  max_grid_dim_y INTEGER NOT NULL,
  max_grid_dim_z INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,  -- As the driver that met this model first counted it.
  l2_bytes INTEGER NOT NULL,
  memory_bus_bits INTEGER NOT NULL,
  memory_clock_khz INTEGER NOT NULL,
  sm_clock_khz INTEGER NOT NULL,
  ecc INTEGER NOT NULL CHECK (ecc IN (0, 1)),
  limits_of TEXT NOT NULL
) STRICT;

-- One board.
CREATE TABLE device_unit (
  id INTEGER PRIMARY KEY,
  model_id INTEGER NOT NULL REFERENCES device_model (id),
  uuid TEXT NOT NULL,  -- Empty for the CPU device.
  UNIQUE (model_id, uuid)
) STRICT;

-- What else a time depends on. Kept beside a result and never part of what finds a best: an upgrade
-- must not hide what is known.
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  unit_id INTEGER NOT NULL REFERENCES device_unit (id),
  driver_version TEXT NOT NULL,
  runtime_version TEXT NOT NULL,
  compiler TEXT NOT NULL,
  compiler_sha256 TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  host TEXT NOT NULL,
  UNIQUE (unit_id, driver_version, runtime_version, compiler, compiler_sha256, tool_version, host)
) STRICT;

CREATE TABLE space (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- A problem belongs to the space: all its kernels solve it.
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  space_id INTEGER NOT NULL REFERENCES space (id),
  key TEXT NOT NULL,
  values_json TEXT NOT NULL,
  UNIQUE (space_id, key)
) STRICT;

-- An edited kernel has another hash and is another row: its results are kept and no longer used.
CREATE TABLE kernel (
  id INTEGER PRIMARY KEY,
  space_id INTEGER NOT NULL REFERENCES space (id),
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (space_id, name, hash)
) STRICT;

-- Which of a kernel's rows a device was given last; results of the others are stale there.
CREATE TABLE current_kernel (
  model_id INTEGER NOT NULL REFERENCES device_model (id),
  space_id INTEGER NOT NULL REFERENCES space (id),
  name TEXT NOT NULL,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  PRIMARY KEY (model_id, space_id, name)
) STRICT, WITHOUT ROWID;

-- Shared by all versions of a kernel.
CREATE TABLE configuration (
  id INTEGER PRIMARY KEY,
  space_id INTEGER NOT NULL REFERENCES space (id),
  kernel_name TEXT NOT NULL,
  key TEXT NOT NULL,
  values_json TEXT NOT NULL,
  UNIQUE (space_id, kernel_name, key)
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE CHECK (length(uid) > 0),
  space_id INTEGER NOT NULL REFERENCES space (id),
  space_sha256 TEXT NOT NULL,
  space_json TEXT NOT NULL,
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  strategy TEXT NOT NULL,
  seed TEXT NOT NULL,  -- Decimal: 64 bits without a sign do not fit INTEGER.
  command_line_json TEXT NOT NULL,
  process TEXT NOT NULL,  -- Which process wrote it, to tell a dead run from a running one.
  started_unix REAL NOT NULL,
  ended_unix REAL,
  outcome TEXT NOT NULL DEFAULT ''
) STRICT;

-- Committed before the device is touched. One that is still open when its process is gone took the
-- process, or the machine, with it.
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run (id),
  model_id INTEGER NOT NULL REFERENCES device_model (id),
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  started_unix REAL NOT NULL,
  outcome TEXT CHECK (outcome IN ('recorded', 'abandoned'))  -- NULL: open.
) STRICT;
CREATE INDEX attempt_open ON attempt (model_id, kernel_id, problem_id, configuration_id)
  WHERE outcome IS NULL;

-- Facts, never changed. model_id repeats the environment's so that an index can begin with it.
CREATE TABLE result (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run (id),
  number INTEGER NOT NULL,  -- Within the run, from 1.
  model_id INTEGER NOT NULL REFERENCES device_model (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  status TEXT NOT NULL
    CHECK (status IN ('correct', 'constraints', 'compile', 'runtime', 'correctness', 'timeout')),
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  stage TEXT NOT NULL CHECK (stage IN ('none', 'screen', 'race', 'final')),
  launches_json TEXT NOT NULL,
  metrics_json TEXT NOT NULL,
  launches_per_sample INTEGER,
  discarded INTEGER,
  sample_count INTEGER,
  median_ms REAL CHECK (median_ms > 0 AND median_ms < 1e12),
  min_ms REAL,
  max_ms REAL,
  mean_ms REAL,
  q1_ms REAL,
  q3_ms REAL,
  median_low_ms REAL,
  median_high_ms REAL,
  sm_clock_mhz REAL,
  samples BLOB,  -- 32-bit IEEE floats, little-endian, in milliseconds.
  max_absolute_error REAL,  -- NULL: not a number.
  max_relative_error REAL,
  compile_ms REAL NOT NULL,
  verify_ms REAL NOT NULL,
  cubin_sha256 TEXT NOT NULL,
  is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
  is_reference INTEGER NOT NULL CHECK (is_reference IN (0, 1)),
  at_unix REAL NOT NULL,
  UNIQUE (run_id, number),
  CHECK ((status = 'correct' AND stage <> 'none') = (median_ms IS NOT NULL))
) STRICT;
-- Answers "what is known of this configuration" and, without the table, "which is fastest now".
CREATE INDEX result_by_configuration ON result
  (model_id, kernel_id, problem_id, configuration_id, id, status, stage, median_ms, run_id);
CREATE INDEX result_final ON result (run_id, problem_id, kernel_id)
  WHERE stage = 'final' AND status = 'correct';

-- The fastest configuration of each kernel, kept up to date in the transaction that stores a result.
-- A view over millions of results would take seconds.
CREATE TABLE best (
  model_id INTEGER NOT NULL REFERENCES device_model (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  result_id INTEGER NOT NULL REFERENCES result (id),
  run_id INTEGER NOT NULL REFERENCES run (id),
  stage TEXT NOT NULL,
  median_ms REAL NOT NULL,
  PRIMARY KEY (model_id, problem_id, kernel_id)
) STRICT, WITHOUT ROWID;
