/*
 * Goal: after a change of rules or authorities, exactly the calls whose caller lost the permission
 * are revoked.
 * Method: calls of users whose permissions are in a set, on a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import type { Impersonation } from '../../../../src/auth/impersonation.ts'
import { allowed, noOpinion } from '../../../../src/auth/decision.ts'
import type { Decision } from '../../../../src/auth/decision.ts'
import { limits } from '../../../../src/config/limits.ts'
import { Revocation } from '../../../../src/server/revocation.ts'
import type { RevocableCall } from '../../../../src/server/revocation.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const action = { kind: 'path', verb: 'get', path: '/stream' } as const
const actAs = { kind: 'path', verb: 'impersonate', path: '/bob' } as const

function userNamed(name: string): UserInfo {
  return { name, uid: '', groups: [], extra: {} }
}

class FakeCall implements RevocableCall {
  readonly authorization = undefined
  readonly connection = null
  readonly info = { action }
  readonly caller: UserInfo
  readonly impersonation: Impersonation | null
  closed = false
  authenticated = true
  isRevoked = false

  constructor(name: string, as: string | null = null) {
    this.caller = userNamed(name)
    this.impersonation = as === null ? null : { user: userNamed(as), permissions: [actAs as never] }
  }

  certificates(): readonly [] {
    return []
  }

  revoke(): void {
    this.isRevoked = true
  }
}

class World {
  readonly clock = new ManualClock()
  readonly calls: FakeCall[] = []
  /** Names of users with the permission. `NAME as`: that user may impersonate. */
  readonly permitted = new Set<string>()
  readonly unknown = new Set<string>()
  version = 0
  decisions = 0
  /** Called at each decision. */
  onDecision: () => void = () => undefined
  readonly revocation = new Revocation({
    calls: () => this.calls,
    authenticator: {
      authenticate: (call) => {
        const { caller } = call as FakeCall
        return this.unknown.has(caller.name) ? null : caller
      },
    },
    authorizer: {
      authorize: ({ name }, asked): Decision | Promise<Decision> => {
        this.decisions++
        this.onDecision()
        const key = asked === action ? name : `${name} as`
        const decision = this.permitted.has(key) ? allowed : noOpinion
        return name.startsWith('remote') ? Promise.resolve(decision) : decision
      },
    },
    accessVersion: () => this.version,
    clock: { every: (ms, run) => this.clock.every(ms, run), soon: (run) => setImmediate(run) },
  })

  /** Begins a call of a user with the permission. */
  call(name: string, as: string | null = null): FakeCall {
    const call = new FakeCall(name, as)
    this.calls.push(call)
    this.permitted.add(as ?? name)
    if (as !== null) this.permitted.add(`${name} as`)
    return call
  }

  lose(key: string): void {
    this.permitted.delete(key)
    this.version++
  }

  /** Advances the clock by `ms`, and waits for the checks that begin then. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms)
    await this.settled()
  }

  async settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  look(): Promise<void> {
    return this.pass(limits.accessCheckMs)
  }
}

void test('only the calls of users that lost the permission are revoked, even if the decision is asynchronous', async () => {
  const world = new World()
  const [ann, bob, remote] = [world.call('ann'), world.call('bob'), world.call('remote')]
  world.lose('bob')
  world.lose('remote')
  assert.ok(!bob.isRevoked)
  await world.look()
  assert.ok(bob.isRevoked && remote.isRevoked)
  assert.ok(!ann.isRevoked)
  world.revocation.close()
})

void test('a call is revoked if its caller may no longer impersonate, or if the impersonated user lost the permission', async () => {
  const world = new World()
  const kept = world.call('ann', 'x')
  const notAllowed = world.call('bob', 'y')
  const userLost = world.call('cleo', 'z')
  world.lose('bob as')
  world.lose('z')
  await world.look()
  assert.ok(notAllowed.isRevoked && userLost.isRevoked)
  assert.ok(!kept.isRevoked)
  world.revocation.close()
})

void test('nothing is decided without a change of rules, and closed or unauthenticated calls are not revoked', async () => {
  const world = new World()
  world.call('ann')
  await world.look()
  await world.look()
  assert.equal(world.decisions, 0)
  const early = world.call('early')
  early.authenticated = false
  const gone = world.call('gone')
  gone.closed = true
  const bob = world.call('bob')
  for (const name of ['early', 'gone', 'bob']) world.lose(name)
  await world.look()
  assert.ok(bob.isRevoked)
  assert.ok(!early.isRevoked && !gone.isRevoked)
  world.revocation.close()
})

void test('a call whose credentials are no longer valid is revoked by a check on request', async () => {
  const world = new World()
  const [ann, bob] = [world.call('ann'), world.call('bob')]
  world.unknown.add('bob')
  world.revocation.check()
  await world.settled()
  assert.ok(bob.isRevoked)
  assert.ok(!ann.isRevoked)
  world.revocation.close()
})

void test('a service account whose token was revoked loses its streams without a change of the rules', async () => {
  const world = new World()
  const account = world.call('system:serviceaccount:default:builder')
  const ann = world.call('ann')
  world.unknown.add(account.caller.name)
  world.unknown.add('ann')
  await world.pass(limits.accountCheckMs)
  assert.ok(account.isRevoked)
  assert.ok(!ann.isRevoked)
  world.lose('other')
  await world.look()
  assert.ok(ann.isRevoked)
  world.revocation.close()
})

void test('a change during a check is followed by another check', async () => {
  const world = new World()
  const [first, second] = [world.call('first'), world.call('second')]
  world.onDecision = () => {
    if (world.decisions !== 2) return
    // The first caller was allowed a moment ago.
    world.lose('first')
    void world.look()
  }
  world.lose('other')
  await world.look()
  assert.ok(first.isRevoked)
  assert.ok(!second.isRevoked)
  world.revocation.close()
})

void test('a call that cannot be checked is revoked', async () => {
  const world = new World()
  const ann = world.call('ann')
  world.onDecision = () => {
    throw new Error('the webhook is not reachable')
  }
  world.revocation.check()
  await world.settled()
  assert.ok(ann.isRevoked)
  world.revocation.close()
})
