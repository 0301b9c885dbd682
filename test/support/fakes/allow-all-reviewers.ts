import type { AccessReviewer } from '../../../src/registry/kinds/access-reviewer.ts'

/** Every caller may do everything, and no token means anybody. */
export const allowsEverything: AccessReviewer = {
  authorize: () => ({ allowed: true, denied: false, reason: '' }),
  rulesOf: () => ({ resourceRules: [], nonResourceRules: [], missing: '' }),
  authenticate: () => ({ kind: 'nobody', why: 'no tokens here' }),
}
