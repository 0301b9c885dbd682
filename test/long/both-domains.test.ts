/*
 * Goal: real processes serve kubectl and custom kinds in both API domains.
 * Method: the tests of the e2e suite that `make test` runs in one domain.
 */
process.env['BOTH_DOMAINS'] = 'yes'

for (const name of [
  ...['bootstrap-tokens', 'custom-kinds', 'kubectl-apply', 'kubectl-definitions', 'kubectl-discovery'],
  ...['kubectl-edits', 'kubectl-events', 'kubectl-kinds', 'kubectl-pods', 'node-life'],
])
  await import(`../e2e/${name}.test.js`)
