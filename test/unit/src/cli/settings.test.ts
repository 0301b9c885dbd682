/*
 * Goal: a change of a setting that another operator changes at the same time is refused with the
 * other's value; changes of other settings are merged; errors quote the words that were typed.
 * Method: orchctl in this process against the shipped server over a real store, into which the test
 * writes just before a change of the command arrives.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { cli } from '../../../../src/cli/cli.ts'
import type { Settings } from '../../../../src/store/command.ts'
import type { Store } from '../../../../src/store/store.ts'
import { realRegistry } from '../../../../fixtures/real-registry.ts'
import { freshRandom, systemClock } from '../../../../fixtures/system.ts'
import { admin, start, trusted } from '../../../support/fixtures/tls-server.ts'

const GiB = 2 ** 30

type CommandResult = { readonly code: number; readonly printed: string; readonly noted: string }

type Opened = {
  readonly store: Store
  /** Changes by others; one is made before each change of the command. */
  readonly others: Partial<Settings>[]
  readonly set: (...args: string[]) => Promise<CommandResult>
}

async function open(t: TestContext): Promise<Opened> {
  const { store, close } = await realRegistry('orch.io')
  t.after(close)
  const others: Partial<Settings>[] = []
  const deadlineMs = systemClock.monotonicMs() + 60_000
  const write: Store['write'] = async (command, deadline) => {
    const other = others.shift()
    const settings = { ...store.settings, ...other }
    if (other !== undefined) await store.write({ kind: 'change-settings', settings }, deadlineMs)
    return store.write(command, deadline)
  }
  const raced = new Proxy(store, {
    get: (target, name) => {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const { url } = await start(t, 'http1', { store: raced })
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const kubeconfig = join(directory, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url)))
  const set = async (...args: string[]): Promise<CommandResult> => {
    const [printed, noted]: [string[], string[]] = [[], []]
    const code = await cli(['settings', ...args, '--kubeconfig', kubeconfig], {
      ...{ clock: systemClock, random: freshRandom(), program: 'orchctl' },
      print: (line) => printed.push(line),
      note: (line) => noted.push(line),
    })
    return { code, printed: printed.join('\n'), noted: noted.join('\n') }
  }
  await store.write(
    { kind: 'change-settings', settings: { ...store.settings, storageBytesMax: 8 * GiB } },
    deadlineMs,
  )
  return { store, others, set }
}

function kubeconfigOf(server: string): object {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const [cluster, user] = ['c', 'u']
  return {
    clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': base64(trusted.pem) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(admin.cert), 'client-key-data': base64(admin.key) },
      },
    ],
    contexts: [{ name: 'n1', context: { cluster, user } }],
    'current-context': 'n1',
  }
}

void test('the settings are shown, with the resources that use most of the storage', async (t) => {
  const { set } = await open(t)
  const { code, printed } = await set('set', '--storage-quota', '16Gi', '--history-window', '90s')
  assert.equal(code, 0)
  assert.match(printed, /storage quota +16Gi +--storage-quota\n/)
  assert.match(printed, /history window +90s +--history-window\n/)
  assert.match(printed, /RESOURCE +NAMESPACE +BYTES WITH HISTORY +OBJECTS\nnamespaces +- +\d+ +4/)
})

void test('a setting that another operator changed in the meantime is not set, and the error has its new value', async (t) => {
  const { store, others, set } = await open(t)
  others.push({ storageBytesMax: 32 * GiB })
  const { code, noted } = await set('set', '--storage-quota', '16Gi', '--history-events-min', '5')
  assert.equal(code, 1)
  assert.match(
    noted,
    /^orchctl: settings not changed: conflict with a concurrent change of --storage-quota from 8Gi to 32Gi \(see [^\n]*$/,
  )
  assert.equal(store.settings.storageBytesMax, 32 * GiB)
  assert.notEqual(store.settings.historyEventsMin, 5)
})

void test('a concurrent change of another setting is kept, and ours is applied', async (t) => {
  const { store, others, set } = await open(t)
  others.push({ historyEventsMin: 5 }, { objectBytesMax: 20_000 })
  assert.equal((await set('set', '--storage-quota', '16Gi')).code, 0)
  const { storageBytesMax, historyEventsMin, objectBytesMax } = store.settings
  assert.deepEqual([storageBytesMax, historyEventsMin, objectBytesMax], [16 * GiB, 5, 20_000])
})

void test('a setting that another operator changed to the same value is a success', async (t) => {
  const { others, set } = await open(t)
  others.push({ storageBytesMax: 16 * GiB })
  assert.equal((await set('set', '--storage-quota', '16Gi')).code, 0)
})

void test('lease reads are switched on and off by those words', async (t) => {
  const { store, set } = await open(t)
  const on = await set('set', '--lease-reads', 'on')
  assert.match(on.printed, /lease reads +on +--lease-reads/)
  assert.equal(store.settings.leaseReads, 1)
  assert.match((await set('set', '--lease-reads', 'off')).printed, /lease reads +off +--lease-reads/)
  assert.equal(store.settings.leaseReads, undefined)
  const odd = await set('set', '--lease-reads', '1')
  assert.equal(odd.code, 2)
  assert.match(odd.noted, /Allowed choices are on, off/)
})

void test('the time of decisions without a quorum is shown and changed as a duration', async (t) => {
  const { store, set } = await open(t)
  assert.match((await set('get')).printed, /stale access +30s +--stale-access/)
  assert.match((await set('set', '--stale-access', '2m')).printed, /stale access +2m/)
  assert.equal(store.settings.staleAccessMs, 120_000)
  const odd = await set('set', '--stale-access', '1s')
  assert.equal(odd.code, 2)
  assert.match(odd.noted, /--stale-access 1s: it must be from 5s to 24h/)
})

void test('a command gives up after repeated changes by others', async (t) => {
  const { others, set } = await open(t)
  for (let at = 0; at < 20; at++) others.push({ historyEventsMin: at })
  const { code, noted } = await set('set', '--storage-quota', '16Gi')
  assert.deepEqual(
    [code, noted],
    [1, 'orchctl: settings not changed: too many conflicting updates, try again'],
  )
})

const outOfRange: readonly (readonly [string, string, string])[] = [
  ['--storage-quota', '1Mi', 'from 16Mi to 16Ti'],
  ['--storage-quota', '17Ti', 'from 16Mi to 16Ti'],
  ['--object-size-max', '4Mi', 'from 16Ki to 3Mi'],
  ['--history-window', '999ms', 'from 1s to 24h'],
  ['--history-events-min', '10000001', 'from 0 to 10000000'],
]

for (const [flag, value, range] of outOfRange) {
  void test(`${flag} ${value} is refused with the value as it was typed and the range`, async () => {
    const noted: string[] = []
    const code = await cli(['settings', 'set', flag, value, '--kubeconfig', '/nowhere'], {
      ...{ clock: systemClock, random: freshRandom(), program: 'orchctl' },
      print: () => undefined,
      note: (line) => noted.push(line),
    })
    assert.deepEqual([code, noted], [2, [`orchctl: ${flag} ${value}: it must be ${range}`]])
  })
}
