/*
 * Goal: the first mode with an opinion decides, and a rejection names every reason in the order of
 * the modes.
 * Method: modes made by hand, each with its answer at once and as a promise.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Action } from '../../../../src/api/action.ts'
import { authorizerFor, firstOpinion } from '../../../../src/auth/authorize.ts'
import type { Authorizer, Decision } from '../../../../src/auth/decision.ts'
import { allowed, noOpinion } from '../../../../src/auth/decision.ts'
import type { RuleSource } from '../../../../src/auth/rules.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'

const user = authenticatedUser({ name: 'alice', groups: [] })
const action: Action = { kind: 'path', verb: 'get', path: '/version' }
const because = (reason: string): Decision => ({ kind: 'no-opinion', reason })
const denied: Decision = { kind: 'deny', reason: 'never' }

const noRules: RuleSource = { version: 1, clusterGrants: () => [], namespaceGrants: () => [] }

let requested: string[] = []

function modeOf(name: string, decision: Decision, isLate: boolean): Authorizer {
  return {
    name,
    authorize: () => {
      requested.push(name)
      return isLate ? Promise.resolve(decision) : decision
    },
  }
}

const rows: readonly (readonly [readonly Decision[], Decision, readonly string[]])[] = [
  [[because('a'), allowed, because('c')], allowed, ['0', '1']],
  [[because('a'), denied, allowed], denied, ['0', '1']],
  [[because('a'), because('b'), because('c')], because('a\nb\nc'), ['0', '1', '2']],
  [[because('a'), noOpinion, because('c')], because('a\nc'), ['0', '1', '2']],
  [[noOpinion, because('b')], because('b'), ['0', '1']],
  [[noOpinion, noOpinion], noOpinion, ['0', '1']],
]

void test('the first opinion decides, else all reasons are given in the order of the modes', async () => {
  for (const [decisions, expected, expectedAsked] of rows) {
    // Each mode answers at once or later, in every combination.
    for (let late = 0; late < 2 ** decisions.length; late++) {
      requested = []
      const modes = decisions.map((decision, at) => modeOf(String(at), decision, ((late >> at) & 1) === 1))
      assert.deepEqual(await firstOpinion(modes).authorize(user, action), expected)
      assert.deepEqual(requested, expectedAsked)
    }
  }
})

void test('an unknown mode is refused with the names of known modes', () => {
  assert.throws(() => authorizerFor(['Magic'], noRules), {
    code: 'unknown-authorization-mode',
    message: 'authorization mode "Magic" is not one of Node, ABAC, RBAC, Webhook, AlwaysAllow, AlwaysDeny',
  })
})
