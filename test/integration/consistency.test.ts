/*
 * Goal: a header chooses the consistency of a read, and a get, list or watch that shows a state
 * names the mode it got, also for missing objects and without the header; writes ignore it; metrics
 * distinguish the modes.
 * Method: HTTP against the shipped server over a real store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpecServer, objectOf } from '../support/fixtures/spec-server.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const header = 'orch-consistency'

void test('spec 4.8.3: a header chooses the mode of a read, and the response names its mode, member, term and revision', async (t) => {
  const server = await SpecServer.start(t)
  const made = await server.ask('POST', maps, { body: objectOf('ConfigMap', 'one') })
  assert.equal(made.headers.get(header), null, 'a write is decided by the log')
  const revision = made.doc.metadata?.resourceVersion ?? ''
  const given = async (path: string, mode?: string): Promise<string> => {
    const reply = await server.ask('GET', path, mode === undefined ? {} : { headers: { [header]: mode } })
    return `${reply.status} ${reply.headers.get(header)?.replace(/bound-ms=\d+/, 'bound-ms=N') ?? 'nothing'}`
  }
  const proof = (mode: string, bound = '; bound-ms=N'): string =>
    `${mode}; member=n1; term=1; revision=${revision}${bound}`
  assert.equal(await given(`${maps}/one`), `200 ${proof('linearizable')}`)
  assert.equal(await given(maps), `200 ${proof('linearizable')}`)
  assert.equal(await given(`${maps}/one?resourceVersion=0`), `200 ${proof('any')}`)
  assert.equal(await given(`${maps}?resourceVersion=1`), `200 ${proof('not-older-than')}`)
  assert.equal(await given(`${maps}/missing`), `404 ${proof('linearizable')}`)
  for (const mode of ['linearizable', 'any', 'log'])
    assert.equal(await given(maps, mode), `200 ${proof(mode)}`)
  assert.equal(await given(maps, 'bounded=60000'), `200 ${proof('bounded')}`)
  assert.equal(await given(maps, 'lease'), '400 nothing')
  assert.equal(await given(maps, 'soon'), '400 nothing')
  const exact = `${maps}?resourceVersion=${revision}&resourceVersionMatch=Exact`
  assert.equal(await given(exact), `200 ${proof('exact', '')}`)
  const watch = await server.watch(`${maps}?watch=true`, { [header]: 'any' })
  assert.match(watch.response.headers.get(header) ?? '', /^any; member=n1; term=1; revision=\d+/)
  watch.leave()
  const head = await server.ask('HEAD', `${maps}/one`)
  assert.match(head.headers.get(header) ?? '', /^linearizable; /)
})

void test('a read of a compacted, a future or an invalid revision names no state', async (t) => {
  const server = await SpecServer.start(t)
  for (const name of ['one', 'two']) await server.ask('POST', maps, { body: objectOf('ConfigMap', name) })
  const { metadata } = (await server.ask('GET', `${maps}?limit=1`)).doc
  const [then, token] = [metadata?.resourceVersion, encodeURIComponent(metadata?.continue ?? '')]
  await server.ask('DELETE', `${maps}/one`)
  await server.trim()
  const exact = `${maps}?resourceVersionMatch=Exact&resourceVersion=`
  const watch = `${maps}?watch=true&resourceVersion=`
  const rows: readonly (readonly [string, number])[] = [
    [exact + then, 410],
    [`${maps}?limit=1&continue=${token}`, 410],
    [watch + then, 410],
    [`${exact}900000`, 504],
    [`${maps}?resourceVersion=900000`, 504],
    [`${maps}/two?resourceVersion=${2 ** 53}`, 400],
  ]
  for (const [path, code] of rows) {
    const { status, headers } = await server.ask('GET', path)
    assert.deepEqual([status, headers.get(header)], [code, null], path)
  }
  const early = await server.watch(`${watch}900000`)
  assert.deepEqual([early.response.status, early.response.headers.get(header)], [200, null])
  early.leave()
  const { doc } = await server.ask('GET', maps)
  const now = await server.watch(watch + doc.metadata?.resourceVersion)
  assert.match(now.response.headers.get(header) ?? '', /^exact; member=n1; term=1; revision=\d+$/)
  now.leave()
})

void test('a write ignores the header', async (t) => {
  const server = await SpecServer.start(t)
  const odd = { headers: { [header]: 'whatever' } }
  const made = await server.ask('POST', maps, { body: objectOf('ConfigMap', 'one'), ...odd })
  assert.equal(made.status, 201)
  assert.equal((await server.ask('DELETE', `${maps}/one`, odd)).status, 200)
})

void test('lease reads are served once they are switched on', async (t) => {
  const server = await SpecServer.start(t)
  const lease = { headers: { [header]: 'lease' } }
  const off = await server.ask('GET', maps, lease)
  assert.equal(off.status, 400)
  assert.match(off.doc.message ?? '', /"lease" is switched off .*orchctl settings set --lease-reads on$/)
  await server.ask('POST', '/cluster/v1/settings', { body: { leaseReads: 1 } })
  const on = await server.ask('GET', maps, lease)
  assert.match(on.headers.get(header) ?? '', /^lease; /)
})

void test('metrics record the duration of reads of each mode and the cause of their waits', async (t) => {
  const server = await SpecServer.start(t)
  for (const mode of ['any', 'any', 'linearizable'])
    await server.ask('GET', maps, { headers: { [header]: mode } })
  const watch = await server.watch(`${maps}?watch=true`)
  watch.leave()
  const { text } = await server.ask('GET', '/metrics')
  const lines = text.split('\n').filter((line) => line.startsWith('orch_read_seconds'))
  const of = (mode: string, phase: string, what: string): string | undefined =>
    lines.find((line) => line.startsWith(`orch_read_seconds_${what}{mode="${mode}",phase="${phase}"`))
  assert.match(of('any', 'total', 'count') ?? '', / 2$/)
  assert.match(of('any', 'read_index', 'sum') ?? '', / 0$/, 'no read index was requested')
  for (const phase of ['total', 'read_index', 'apply', 'encode']) {
    assert.ok(of('linearizable', phase, 'count') !== undefined, phase)
  }
  const inf = lines.find((line) => line.includes('le="+Inf",mode="any",phase="total"'))
  assert.match(inf ?? '', / 2$/)
  assert.match(text, /# TYPE orch_read_seconds histogram/)
  assert.ok(lines.length <= 7 * 4 * 18, 'series are bounded')
})
