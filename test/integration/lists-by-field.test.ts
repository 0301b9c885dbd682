/*
 * Goal: over HTTP, a list of Pods by node and phase, in any pages, at any version and in any
 * representation, is what a client selects from a whole list of the same version.
 * Method: Pods of three nodes on the shipped server, verbs and machine; their phases change, and
 * Pods come and go, between lists and pages.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const PODS = '/api/v1/namespaces/default/pods'
const MERGE = 'application/merge-patch+json'

type Pod = {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly spec: { readonly nodeName: string }
  readonly status: { readonly phase: string }
}
type PodList = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly Pod[]
}

type Choice = { readonly selector: string; readonly holds: (pod: Pod) => boolean }
const choices: readonly Choice[] = [
  { selector: 'spec.nodeName=n1', holds: ({ spec }) => spec.nodeName === 'n1' },
  { selector: 'status.phase=Running', holds: ({ status }) => status.phase === 'Running' },
  {
    selector: 'spec.nodeName=n2,status.phase!=Running',
    holds: ({ spec, status }) => spec.nodeName === 'n2' && status.phase !== 'Running',
  },
  {
    selector: 'metadata.name!=p3,status.phase!=Pending',
    holds: ({ metadata, status }) => metadata.name !== 'p3' && status.phase !== 'Pending',
  },
]

async function listed(api: SpecServer, query: string): Promise<PodList> {
  const { status, text } = await api.ask('GET', `${PODS}?${query}`)
  assert.equal(status, 200, text)
  return JSON.parse(text) as PodList
}

function shapes(pods: readonly Pod[]): readonly string[] {
  return pods.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
}

async function create(api: SpecServer, at: number): Promise<void> {
  const containers = [{ name: 'c', image: 'registry.test/app:1' }]
  const metadata = { name: `p${at}` }
  const body = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { nodeName: `n${at % 3}`, containers } }
  const { status, text } = await api.ask('POST', PODS, { body })
  assert.equal(status, 201, text)
}

async function writeSomething(api: SpecServer, random: SeededRandom): Promise<void> {
  const at = random.below(15)
  const path = `${PODS}/p${at}`
  const phase = random.pick(['Pending', 'Running'])
  const changed = await api.ask('PATCH', `${path}/status`, { body: { status: { phase } }, type: MERGE })
  if (changed.status === 404) await create(api, at)
  else if (random.chance(0.3)) await api.ask('DELETE', `${path}?gracePeriodSeconds=0`)
}

void test('spec 4.2, 4.8.1: pages by node and phase are what a client selects from the same version', async (t) => {
  const api = await SpecServer.start(t)
  const random = new SeededRandom(5)
  for (let at = 0; at < 15; at++) await create(api, at)
  let selected = 0
  for (let round = 0; round < 40; round++) {
    await writeSomething(api, random)
    const { selector, holds } = random.pick(choices)
    const query = `fieldSelector=${encodeURIComponent(selector)}`
    const pages = [await listed(api, `${query}&limit=2`)]
    const version = pages[0]?.metadata.resourceVersion ?? ''
    for (let token = pages[0]?.metadata.continue; token !== undefined;) {
      await writeSomething(api, random)
      const page = await listed(api, `${query}&limit=2&continue=${encodeURIComponent(token)}`)
      assert.equal(page.metadata.resourceVersion, version)
      pages.push(page)
      token = page.metadata.continue
    }
    const exact = `resourceVersion=${version}&resourceVersionMatch=Exact`
    const whole = await listed(api, exact)
    const wanted = shapes(whole.items.filter(holds))
    selected += wanted.length
    const given = `${selector} at ${version}`
    assert.deepEqual(shapes(pages.flatMap(({ items }) => items)), wanted, given)
    assert.deepEqual(shapes((await listed(api, `${query}&${exact}`)).items), wanted, given)
  }
  assert.ok(selected > 50, `${selected} Pods were selected`)
})

void test('tables, YAML lists and watches by node have the Pods of that node', async (t) => {
  const api = await SpecServer.start(t)
  for (let at = 0; at < 9; at++) await create(api, at)
  const byNode = `${PODS}?fieldSelector=spec.nodeName%3Dn1`
  for (let times = 0; times < 2; times++) {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { text } = await api.ask('GET', byNode, { headers: { accept } })
    const { rows } = JSON.parse(text) as { readonly rows: readonly { readonly cells: readonly unknown[] }[] }
    assert.deepEqual(
      rows.map(({ cells }) => cells[0]),
      ['p1', 'p4', 'p7'],
    )
    const yaml = await api.ask('GET', byNode, { headers: { accept: 'application/yaml' } })
    assert.deepEqual(yaml.text.match(/(?<=^ {4}name: )p\d$/gm), ['p1', 'p4', 'p7'])
    const watch = await api.watch(`${byNode}&watch=1`)
    assert.deepEqual(await watch.words(3), ['ADDED p1', 'ADDED p4', 'ADDED p7'])
    watch.leave()
  }
})
