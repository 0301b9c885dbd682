/*
 * Goal: claims of Services that leaked, or that an older version did not store, are repaired while
 * the server serves, and a Service that is created during a repair keeps its claim.
 * Method: one whole member in this process with clients over HTTPS. Commands that no version of
 * this server proposes make the leaks, and proposals of the repair are held up.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Deferred } from '../../base/deferred.ts'
import { systemClock } from '../../fixtures/system.ts'
import type { Consensus, ProposalResult } from '../../raft/index.ts'
import { encode } from '../../src/registry/kinds/encode.ts'
import { claimOperation, claimUid } from '../../src/registry/writing/claims.ts'
import { decodeCommand, encodeCommand } from '../../src/store/command-codec.ts'
import type { Operation, Outcome } from '../../src/store/command.ts'
import { keyOf, partsOf } from '../../src/store/key.ts'
import type { Key } from '../../src/store/key.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { AccessServer } from '../support/fixtures/access-server.ts'
import type { AccessReply } from '../support/fixtures/access-server.ts'
import { until } from '../support/tools/until.ts'

const SERVICES = '/api/v1/namespaces/default/services'

type Proposed = Promise<ProposalResult<Outcome>>
type HeldRepair = { readonly go: () => Proposed }

function claimKey(address: string): Key {
  return keyOf({ group: 'internal', plural: 'serviceclaims', namespace: 'ipv4', name: address })
}

/** A claim of a Service that does not exist. */
function leakOf(address: string): Operation {
  return claimOperation(claimKey(address), { namespace: 'default', name: 'gone', uid: 'gone' })
}

/** Whether a command changes one claim and no Service. */
function isRepair(payload: Uint8Array): boolean {
  const command = decodeCommand(payload)
  if (command.kind !== 'write' || command.operations.length !== 1) return false
  return command.operations.every(({ key }) => partsOf(key).plural === 'serviceclaims')
}

class Member {
  readonly api: AccessServer
  readonly #consensus: Consensus<Outcome>
  readonly #machine: StoreMachine
  readonly #holding: { next: Deferred<HeldRepair> | null }

  constructor(
    api: AccessServer,
    parts: { readonly consensus: Consensus<Outcome>; readonly machine: StoreMachine },
    holding: { next: Deferred<HeldRepair> | null },
  ) {
    this.api = api
    this.#consensus = parts.consensus
    this.#machine = parts.machine
    this.#holding = holding
  }

  static async start(t: TestContext): Promise<Member> {
    const made: { consensus?: Consensus<Outcome>; machine?: StoreMachine } = {}
    const holding: { next: Deferred<HeldRepair> | null } = { next: null }
    const flags = { 'service-cluster-ip-range': '10.0.0.0/24' }
    const api = await AccessServer.start(t, flags, {
      machine: (machine) => (made.machine = machine),
      consensus: (real) => {
        made.consensus = real
        const propose = (payload: Uint8Array, deadlineMs: number): Proposed => {
          const go = (): Proposed => real.propose(payload, deadlineMs)
          const { next } = holding
          if (next === null || !isRepair(payload)) return go()
          holding.next = null
          return new Promise((resolve, reject) => {
            next.resolve({
              go: () => {
                const proposed = go()
                proposed.then(resolve, reject)
                return proposed
              },
            })
          })
        }
        return new Proxy(real, {
          get: (target, name) => {
            if (name === 'propose') return propose
            const value: unknown = Reflect.get(target, name, target)
            return typeof value === 'function' ? (value.bind(target) as unknown) : value
          },
        })
      },
    })
    const { consensus, machine } = made
    assert.ok(consensus !== undefined && machine !== undefined)
    return new Member(api, { consensus, machine }, holding)
  }

  /** Holds the next proposal of a repair up. */
  holdNext(): Promise<HeldRepair> {
    this.#holding.next = new Deferred<HeldRepair>()
    return this.#holding.next.promise
  }

  /** Applies operations without the checks of the API. */
  async write(operations: readonly Operation[]): Promise<void> {
    const payload = encodeCommand({ kind: 'write', operations })
    const result = await this.#consensus.propose(payload, systemClock.monotonicMs() + 60_000)
    assert.ok(result.kind === 'applied' && result.outcome.kind === 'done', JSON.stringify(result))
  }

  create(name: string, clusterIP: string): Promise<AccessReply> {
    const body = { metadata: { name }, spec: { clusterIP, ports: [{ port: 80 }] } }
    return this.api.admin(SERVICES, { method: 'POST', body })
  }

  /** Stores a Service as a version without claims stored it. */
  async storeOlder(name: string, clusterIP: string): Promise<void> {
    const { status, text } = await this.create(name, 'None')
    assert.equal(status, 201, text)
    const { metadata } = JSON.parse(text) as { metadata: object }
    const ports = [{ port: 80, protocol: 'TCP', targetPort: 80 }]
    const object = encode({
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, resourceVersion: '' } },
      spec: { type: 'ClusterIP', sessionAffinity: 'None', ports, clusterIP, clusterIPs: [clusterIP] },
    })
    await this.write([{ kind: 'put', key: serviceKey(name), conditions: [], object }])
  }

  /** The uid of the claim of an address; unset: it is not claimed. */
  claimOf(address: string): string | undefined {
    return this.#machine.lastState.objects.get(claimKey(address))?.uid
  }

  /** The uid of the claims of a Service. */
  claimUidOf(name: string): string {
    const stored = this.#machine.lastState.objects.get(serviceKey(name))
    return claimUid({ uid: stored?.uid ?? assert.fail(`there is a Service ${name}`) })
  }
}

function serviceKey(name: string): Key {
  return keyOf({ group: '', plural: 'services', namespace: 'default', name })
}

void test('a serving member releases leaked claims, claims what older versions did not, and counts both', async (t) => {
  const member = await Member.start(t)
  await member.write([leakOf('10.0.0.7')])
  await until('the claim is released', () => member.claimOf('10.0.0.7') === undefined)
  const created = await member.create('a', '10.0.0.7')
  assert.equal(created.status, 201, created.text)
  await member.storeOlder('old', '10.0.0.9')
  await until('the claim is restored', () => member.claimOf('10.0.0.9') === member.claimUidOf('old'))
  assert.equal((await member.create('b', '10.0.0.9')).status, 422)
  const { text } = await member.api.admin('/metrics')
  assert.match(text, /^orch_service_claims_released(_total)? 1$/m)
  assert.match(text, /^orch_service_claims_restored(_total)? 1$/m)
})

void test('a release that is applied late takes no claim from a Service that got the address before it', async (t) => {
  const member = await Member.start(t)
  const held = member.holdNext()
  await member.write([leakOf('10.0.0.7')])
  const repair = await held
  assert.equal((await member.create('a', '10.0.0.7')).status, 422, 'the address is claimed')
  // As by the repair of another leader.
  await member.write([{ kind: 'delete', key: claimKey('10.0.0.7'), conditions: [] }])
  const created = await member.create('a', '10.0.0.7')
  assert.equal(created.status, 201, created.text)
  const result = await repair.go()
  assert.equal(result.kind === 'applied' && result.outcome.kind, 'refused')
  assert.equal(member.claimOf('10.0.0.7'), member.claimUidOf('a'))
  assert.equal((await member.create('b', '10.0.0.7')).status, 422)
})

void test('a claim that is restored late does not go to a Service that was deleted before', async (t) => {
  const member = await Member.start(t)
  const held = member.holdNext()
  await member.storeOlder('old', '10.0.0.9')
  const repair = await held
  assert.equal((await member.api.admin(`${SERVICES}/old`, { method: 'DELETE' })).status, 200)
  const created = await member.create('a', '10.0.0.9')
  assert.equal(created.status, 201, created.text)
  const result = await repair.go()
  assert.equal(result.kind === 'applied' && result.outcome.kind, 'refused')
  assert.equal(member.claimOf('10.0.0.9'), member.claimUidOf('a'))
})

void test('Services that are created while leaks of their addresses are repaired keep their claims', async (t) => {
  const member = await Member.start(t)
  const addresses = Array.from({ length: 20 }, (_, at) => `10.0.0.${100 + at}`)
  await Promise.all(
    addresses.map(async (address) => {
      await member.write([leakOf(address)])
      await until(`a Service gets ${address}`, async () => {
        const { status, text } = await member.create(`s-${address.replaceAll('.', '-')}`, address)
        assert.ok(status === 201 || status === 422, text)
        return status === 201
      })
    }),
  )
  // Repairs that were decided before are done.
  await member.write([leakOf('10.0.0.7')])
  await until('the last claim is released', () => member.claimOf('10.0.0.7') === undefined)
  for (const address of addresses)
    assert.equal(member.claimOf(address), member.claimUidOf(`s-${address.replaceAll('.', '-')}`), address)
})
