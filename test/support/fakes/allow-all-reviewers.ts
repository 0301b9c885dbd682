import type { AccessReviewer } from '../../../src/registry/kinds/access-reviewer.ts'

/** Allows all requests, and accepts no token. */
export const allowsEverything: AccessReviewer = {
  authorize: () => ({ allowed: true, denied: false, reason: '' }),
  rulesOf: () => ({ resourceRules: [], nonResourceRules: [], missing: '' }),
  authenticate: () => ({ kind: 'nobody', why: 'no tokens here' }),
}
