import type { Reviewers } from '../../../src/registry/kinds/reviewers.ts'

/** Every caller may do everything, and no token means anybody. */
export const allowsEverything: Reviewers = {
  mayDo: () => ({ allowed: true, denied: false, reason: '' }),
  rulesOf: () => ({ resourceRules: [], nonResourceRules: [], missing: '' }),
  recognize: () => ({ kind: 'nobody', why: 'no tokens here' }),
}
