import { allowed } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'

/** Everybody may do everything: for machines nobody else can reach. */
export const alwaysAllow: Authorizer = Object.freeze({
  name: 'AlwaysAllow',
  authorize: () => allowed,
})

const everythingForbidden: Decision = Object.freeze({ kind: 'deny', reason: 'Everything is forbidden.' })

/** Nobody may do anything, whatever later modes think: for tests of what comes before it in the list. */
export const alwaysDeny: Authorizer = Object.freeze({
  name: 'AlwaysDeny',
  authorize: () => everythingForbidden,
})
