/*
 * Goal: what `make test` shows in some variants holds in all of them: both API domains, upgrades
 * from each feature level, and every mutant.
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
await import('../unit/src/resources/worst-cases.test.ts')
await import('../mutants/mutants.test.ts')
