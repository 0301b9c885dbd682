/*
 * Goal: signing cluster-info costs no more than linear time in the number of tokens, follows the
 * wall clock in either direction, and removes no signature because a token is not applied yet.
 * Method: the shipped controller on the shipped verbs, with tokens whose walks are counted, and
 * a clock that is moved and set by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import { clusterInfoSigner } from '../../../../src/controllers/bootstrap-tokens/signing.ts'
import type { BootstrapToken } from '../../../../src/registry/kinds/bootstrap-token.ts'
import type { InformerChange } from '../../../../src/registry/informer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { keyOf } from '../../../../src/store/key.ts'
import type { Key } from '../../../../src/store/key.ts'
import { Fixture, ManualClock } from '../registry/fixture.ts'
import { recorderOf } from './recorded-events.ts'
import { storeClusterInfo, tokenSecret } from './token-bodies.ts'

type Change = InformerChange<BootstrapToken | null>

function secretKey(id: string): Key {
  return keyOf({ group: '', plural: 'secrets', namespace: 'system-ns', name: `bootstrap-token-${id}` })
}

/** Tokens in memory. */
class Tokens {
  /** The number of tokens that were walked through. */
  walked = 0
  readonly #tokens = new Map<Key, BootstrapToken>()
  readonly #listeners: ((change: Change) => void)[] = []
  /** Adds the tokens that are stored, but that no listener has been notified of. */
  readonly #unapplied: (() => void)[] = []
  /** The Secrets that cannot be decrypted. */
  readonly #unreadable = new Set<Key>()

  addUnreadable(id: string): void {
    this.#unreadable.add(secretKey(id))
  }

  lacks(key: Key): boolean {
    return this.#unreadable.has(key)
  }

  /** Stores a token that is seen only when everything applied is taken in. */
  addUnseen(id: string): void {
    this.#unapplied.push(() => this.add(id, Infinity))
  }

  async takeIn(): Promise<void> {
    for (const add of this.#unapplied.splice(0)) add()
  }

  add(id: string, expiresMs: number): void {
    const key = secretKey(id)
    const value = { id, secret: tokenSecret, authenticates: true, signs: true, extraGroups: '', expiresMs }
    this.#tokens.set(key, value)
    for (const listener of this.#listeners) listener({ kind: 'set', key, value, previous: null })
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.push(listener)
    return () => undefined
  }

  *entries(): Generator<readonly [Key, BootstrapToken], void> {
    for (const entry of this.#tokens) {
      this.walked++
      yield entry
    }
  }
}

class SetClock extends ManualClock {
  /** The time by which the wall clock is ahead. */
  aheadMs = 0

  override wallMs(): number {
    return super.wallMs() + this.aheadMs
  }
}

async function open(t: TestContext, tokens: Tokens) {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { names, catalog, registry } = api
  const clock = new SetClock()
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const signerOf = (tokens: Tokens) => {
    const signer = clusterInfoSigner({
      ...{ clock, names, catalog, tokens },
      client: new LocalClient({ registry, clock: api.clock, user, timeoutMs: 10_000 }),
      ...{ rootCa: () => null, onRootCaChanged: () => undefined, events: recorderOf(api) },
      clusterInfo: { subscribe: () => () => undefined },
      onError: (_, cause) => assert.fail(String(cause)),
    })
    t.after(() => signer.stop())
    return signer
  }
  const signatures = async (): Promise<readonly string[]> => {
    clock.advance(10_000)
    for (let at = 0; at < 50; at++) await turn()
    const namespace = names.publicNamespace
    const { object } = await api.get({ kind: 'ConfigMap', namespace, name: 'cluster-info' })
    return Object.keys(objectMember(object, 'data')).filter((key) => key.startsWith('jws-'))
  }
  return { api, clock, signer: signerOf(tokens), signerOf, signatures }
}

void test('tokens that arrive together are walked through a few times, not once for each', async (t) => {
  const count = 2000
  const tokens = new Tokens()
  const { api, signer, signatures } = await open(t, tokens)
  await storeClusterInfo(api)
  for (let at = 0; at < count; at++) tokens.add(String(100_000 + at), Infinity)
  assert.equal(tokens.walked, 0, 'a member that does not lead signs nothing')
  signer.start()
  for (let at = 0; at < count; at++) tokens.add(String(200_000 + at), Infinity)
  await signatures()
  assert.ok(tokens.walked <= 10 * 2 * count, `${tokens.walked} walked`)
})

void test('cluster-info follows a wall clock that is set ahead and back', async (t) => {
  const tokens = new Tokens()
  const { api, clock, signer, signatures } = await open(t, tokens)
  await storeClusterInfo(api)
  const dayMs = 86_400_000
  tokens.add('aaaaaa', clock.wallMs() + dayMs)
  tokens.add('bbbbbb', clock.wallMs() + 1000 * dayMs)
  signer.start()
  const both = ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb']
  assert.deepEqual(await signatures(), both)
  clock.aheadMs = 365 * dayMs
  assert.deepEqual(await signatures(), both.slice(1))
  clock.aheadMs = 0
  assert.deepEqual(await signatures(), both)
})

void test('a new leader keeps the signature of a token that it cannot decrypt, of the same kubeconfig', async (t) => {
  const tokens = new Tokens()
  const { api, signer, signerOf, signatures } = await open(t, tokens)
  await storeClusterInfo(api)
  for (const id of ['aaaaaa', 'bbbbbb', 'cccccc']) tokens.add(id, Infinity)
  signer.start()
  assert.equal((await signatures()).length, 3)
  signer.stop()
  const tokensOfNext = new Tokens()
  tokensOfNext.add('aaaaaa', Infinity)
  tokensOfNext.addUnreadable('bbbbbb')
  signerOf(tokensOfNext).start()
  assert.deepEqual((await signatures()).toSorted(), ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb'])
})

void test('a new leader that has not taken in a token yet keeps its signature', async (t) => {
  const tokens = new Tokens()
  const { api, signer, signerOf, signatures } = await open(t, tokens)
  await storeClusterInfo(api)
  tokens.add('aaaaaa', Infinity)
  signer.start()
  const [signed] = await signatures()
  assert.equal(signed, 'jws-kubeconfig-aaaaaa')
  signer.stop()
  const tokensOfNext = new Tokens()
  tokensOfNext.addUnseen('aaaaaa')
  signerOf(tokensOfNext).start()
  assert.deepEqual(await signatures(), [signed])
})
