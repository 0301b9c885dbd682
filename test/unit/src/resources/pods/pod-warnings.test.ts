/*
 * Goal: a valid Pod or template gets upstream's warnings about fields without effect, once each,
 * and no others.
 * Method: a table of inputs and warnings, in both domains; a large object; the shipped verbs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { objectMember } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import { podWarnings } from '../../../../../src/resources/pods/pod-warnings.ts'
import { defaultRegistryLimits } from '../../../../../src/registry/shared/registry-limits.ts'
import { Fixture, refused } from '../../registry/fixture.ts'
import { container, podBody } from './pod-samples.ts'

type Annotations = { readonly [key: string]: string }
type Row = readonly [spec: JsonObject, annotations: Annotations, warnings: readonly string[]]

/** @param of returns names that differ between the domains */
function rowsOf(of: { readonly label: (prefix: string, key: string) => string }): readonly Row[] {
  const { label } = of
  const [arch, os] = [label('beta', 'arch'), label('beta', 'os')]
  const zone = label('failure-domain.beta', 'zone')
  const isZone = `deprecated since v1.17; use "${label('topology', 'zone')}" instead`
  const need = 'requiredDuringSchedulingIgnoredDuringExecution'
  const like = 'preferredDuringSchedulingIgnoredDuringExecution'
  const term = { matchExpressions: [{ key: 'mine' }, { key: zone }] }
  const profile = 'deprecated since v1.19, non-functional in v1.25+; use the "seccompProfile" field instead'
  const [podProfile, ofMain] = [
    label('seccomp.security.alpha', 'pod'),
    label('container.seccomp.security.alpha', 'main'),
  ]
  const confined = { securityContext: { seccompProfile: { type: 'Unconfined' } } }
  const gone = (key: string, words: string): string =>
    `metadata.annotations[${key}]: non-functional in ${words}`
  const parts = (path: string, given: string): string =>
    `${path}: fractional byte value "${given}" is invalid, must be an integer`
  const spread = { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }
  return [
    [{}, { mine: '' }, []],
    [
      { nodeSelector: { [arch]: 'a', mine: 'b', [os]: 'c' } },
      {},
      [
        `spec.nodeSelector[${arch}]: deprecated since v1.14; use "${label('', 'arch')}" instead`,
        `spec.nodeSelector[${os}]: deprecated since v1.14; use "${label('', 'os')}" instead`,
      ],
    ],
    [
      { affinity: { nodeAffinity: { [need]: { nodeSelectorTerms: [{}, term] } } } },
      {},
      [
        `spec.affinity.nodeAffinity.${need}.nodeSelectorTerms[1].matchExpressions[1].key: ${zone} is ${isZone}`,
      ],
    ],
    [
      { affinity: { nodeAffinity: { [like]: [{ weight: 1, preference: term }] } } },
      {},
      [`spec.affinity.nodeAffinity.${like}[0].preference.matchExpressions[1].key: ${zone} is ${isZone}`],
    ],
    [
      {
        topologySpreadConstraints: [
          { ...spread, topologyKey: zone },
          { ...spread, topologyKey: 'mine' },
        ],
      },
      {},
      [`spec.topologySpreadConstraints[0].topologyKey: ${zone} is ${isZone}`],
    ],
    [
      {},
      {
        [label('scheduler.alpha', 'critical-pod')]: '',
        [label('security.alpha', 'sysctls')]: '',
        [label('security.alpha', 'unsafe-sysctls')]: '',
      },
      [
        gone(label('scheduler.alpha', 'critical-pod'), 'v1.16+; use the "priorityClassName" field instead'),
        gone(label('security.alpha', 'sysctls'), 'v1.11+; use the "sysctls" field instead'),
        gone(label('security.alpha', 'unsafe-sysctls'), 'v1.11+; use the "sysctls" field instead'),
      ],
    ],
    [
      {
        volumes: [
          ...['photonPersistentDisk', 'gitRepo', 'scaleIO', 'flocker', 'storageos', 'quobyte'],
          ...['glusterfs', 'flexVolume', 'emptyDir'],
        ].map((source) => ({ name: source.toLowerCase(), [source]: {} })),
      },
      {},
      [
        'spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+',
        'spec.volumes[1].gitRepo: deprecated in v1.11',
        'spec.volumes[2].scaleIO: deprecated in v1.16, non-functional in v1.22+',
        'spec.volumes[3].flocker: deprecated in v1.22, support removal is planned in v1.26',
        'spec.volumes[4].storageOS: deprecated in v1.22, support removal is planned in v1.26',
        'spec.volumes[5].quobyte: deprecated in v1.22, support removal is planned in v1.26',
      ],
    ],
    [
      { hostAliases: ['1.1.1.1', '1.1.1.2', '1.1.1.1'].map((ip) => ({ ip })) },
      {},
      ['spec.hostAliases[2].ip: duplicate ip "1.1.1.1"'],
    ],
    [
      { imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}] },
      {},
      [
        'spec.imagePullSecrets[1].name: duplicate name "a"',
        'spec.imagePullSecrets[2].name: invalid empty name ""',
      ],
    ],
    [{ overhead: { memory: '0.5', cpu: '0.5' } }, {}, [parts('spec.overhead[memory]', '500m')]],
    [
      {
        initContainers: [container({ resources: { requests: { 'ephemeral-storage': '1500m' } } })],
        containers: [container({ resources: { limits: { memory: '1m', cpu: '1m' } } })],
      },
      {},
      [
        parts('spec.initContainers[0].resources.requests[ephemeral-storage]', '1500m'),
        parts('spec.containers[0].resources.limits[memory]', '1m'),
      ],
    ],
    [
      { containers: [container({ env: ['a', 'b', 'a'].map((name) => ({ name })) })] },
      {},
      ['spec.containers[0].env[2].name: duplicate name "a"'],
    ],
    [
      {},
      { [podProfile]: 'unconfined', [ofMain]: 'unconfined' },
      [`metadata.annotations[${podProfile}]: ${profile}`, `metadata.annotations[${ofMain}]: ${profile}`],
    ],
    [
      { ...confined, containers: [container(confined)] },
      { [podProfile]: 'unconfined', [ofMain]: 'unconfined', [`${ofMain}-not`]: '' },
      [],
    ],
  ]
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`fields without effect get upstream's warnings (${domain})`, () => {
    const stem = domain === 'orch.io' ? 'orch.io' : 'kubernetes.io'
    const label = (prefix: string, key: string): string =>
      `${prefix === '' ? '' : `${prefix}.`}${stem}/${key}`
    const given = new Set<string>()
    for (const [members, annotations, warnings] of rowsOf({ label })) {
      const spec = { containers: [container()], ...members }
      assert.deepEqual(warningsOf(spec, annotations, '', domain), warnings)
      const inTemplate = warnings.map((text) => `spec.template.${text}`)
      assert.deepEqual(warningsOf(spec, annotations, 'spec.template.', domain), inTemplate)
      for (const text of warnings) given.add(text)
    }
    assert.equal(given.size, 23)
  })
}

function warningsOf(
  spec: JsonObject,
  annotations: Annotations,
  at: string,
  domain: ApiDomain,
): readonly string[] {
  return [...podWarnings({ spec, annotations, at, names: namesOf(domain) })]
}

void test('Pods are inspected when they are created and valid, templates also when they change', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const spec = { nodeSelector: { 'beta.kubernetes.io/os': 'x' } }
  const words = 'nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'
  const warnedOf = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
    api.warnings.length = 0
    await act()
    return [...api.warnings]
  }
  const invalid = podBody({ ...spec, restartPolicy: 'Once' })
  assert.deepEqual(await warnedOf(() => refused(api.create({ kind: 'Pod', body: invalid }))), [])
  assert.deepEqual(await warnedOf(() => api.create({ kind: 'Pod', body: podBody(spec) })), [`spec.${words}`])
  const labels = { metadata: { labels: { a: 'b' } } }
  assert.deepEqual(await warnedOf(() => api.patch({ kind: 'Pod', name: 'a', body: labels })), [])

  const kind = 'PodTemplate'
  const template = { spec: { containers: [container()], ...spec } }
  const made = { kind, body: { kind, metadata: { name: 'a' }, template } }
  assert.deepEqual(await warnedOf(() => api.create(made)), [`template.spec.${words}`])
  assert.deepEqual(await warnedOf(() => api.patch({ kind, name: 'a', body: labels })), [])
  const other = { template: { spec: { hostname: 'h' } } }
  assert.deepEqual(await warnedOf(() => api.patch({ kind, name: 'a', body: other })), [
    `template.spec.${words}`,
  ])

  const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }
  const profiled = await warnedOf(() =>
    api.create({ kind: 'Pod', body: podBody({}, { name: 'b', annotations }) }),
  )
  assert.deepEqual(profiled, [], 'it got the field')
  const node = { kind: 'Node', metadata: { name: 'n' }, spec: { externalID: 'x' } }
  assert.deepEqual(await warnedOf(() => api.create({ kind: 'Node', body: node })), [
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ])
})

void test('only the first warnings are created and sent, however many there are', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const hostAliases = Array.from({ length: 15_000 }, () => ({ ip: '1.1.1.1', hostnames: ['a'] }))
  const got = await api.create({ kind: 'Pod', body: podBody({ hostAliases }) })
  assert.equal((objectMember(got.object, 'spec')['hostAliases'] as readonly unknown[]).length, 15_000)
  // One more warning is about metadata.managedFields.
  const ofFields = api.warnings.filter((words) => !words.startsWith('with metadata.managedFields'))
  assert.equal(ofFields.length, defaultRegistryLimits.fieldWarningsMax)
  assert.equal(ofFields[0], 'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"')
})

void test("the deletion cost of a Pod is a 32-bit integer in upstream's syntax", async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const key = 'controller.kubernetes.io/pod-deletion-cost'
  const body = (cost: string): JsonObject => podBody({}, { annotations: { [key]: cost } })
  const dry = { kind: 'Pod', query: { dryRun: 'All' } }
  for (const cost of ['0', '1', '-1', '-0', '-08', '2147483647', '-2147483648'])
    assert.equal((await api.create({ ...dry, body: body(cost) })).code, 201, cost)
  for (const cost of [
    '',
    '+1',
    '01',
    '00',
    ' 1',
    '1 ',
    '1.0',
    '1e3',
    '0x1',
    'a',
    '2147483648',
    '-2147483649',
    '-',
  ]) {
    const { code, message } = await refused(api.create({ ...dry, body: body(cost) }))
    assert.equal(code, 422, cost)
    const field = `metadata.annotations[${key}]: Invalid value: ${JSON.stringify(cost)}`
    assert.ok(message.includes(`${field}: must be a 32bit integer`), message)
  }
  await api.create({ kind: 'Pod', body: body('1') })
  const change = (cost: string): JsonObject => ({ metadata: { annotations: { [key]: cost } } })
  assert.equal((await api.patch({ kind: 'Pod', name: 'a', body: change('2') })).code, 200)
  assert.equal((await refused(api.patch({ kind: 'Pod', name: 'a', body: change('+2') }))).code, 422)
  const template = { metadata: { annotations: { [key]: '+1' } }, spec: { containers: [container()] } }
  const kind = 'PodTemplate'
  assert.equal(
    (await refused(api.create({ kind, body: { kind, metadata: { name: 'a' }, template } }))).code,
    422,
  )
})
