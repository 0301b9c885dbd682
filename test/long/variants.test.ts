/*
 * Goal: what `make test` shows in some variants holds in all of them: both API domains, upgrades
 * from each feature level, every mutant, and more rounds of random and exhaustive tests.
 * Method: the same tests; see `support/fixtures/variants.ts`.
 */
process.env['EVERY_VARIANT'] = 'yes'

for (const name of [
  ...['bootstrap-tokens', 'custom-kinds', 'kubectl-apply', 'kubectl-definitions', 'kubectl-discovery'],
  ...['kubectl-edits', 'kubectl-events', 'kubectl-kinds', 'kubectl-lists', 'kubectl-pods', 'node-life'],
  ...['feature-level', 'repair', 'stalls'],
])
  await import(`../e2e/${name}.test.js`)
await import('../integration/all-kinds.test.ts')
for (const path of [
  ...['fuzz/decoders', 'raft/core/lease', 'raft/core/random', 'raft/core/violation'],
  ...['raft/log/wal-repair', 'raft/log/wal-rot', 'src/api/apply/apply-model'],
  ...['src/data-dir/lease-promise', 'src/resources/crd/common-definitions'],
  ...['src/resources/worst-cases', 'src/store/disk/tables/check-tables'],
  'tools/verify/random-histories',
])
  await import(`../unit/${path}.test.js`)
await import('../mutants/mutants.test.ts')
