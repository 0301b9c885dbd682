/*
 * Goal: each rule of a Pod, except those of containers, is broken once, and reported as by
 * upstream.
 * Method: tables of errors in a minimal Pod; a dry run of creating it through the shipped verbs.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../../registry/fixture.ts'
import { refuseEach } from './pod-refusals.ts'
import { container, podBody } from './pod-samples.ts'

let api: Fixture
before(async () => void (api = await Fixture.open()))
after(() => api.close())

const label = 'a lowercase RFC 1123 label must consist of'
const subdomain = 'a lowercase RFC 1123 subdomain must consist of'

void test('node selectors, affinity, tolerations and topology spread are validated', async () => {
  const need = 'requiredDuringSchedulingIgnoredDuringExecution'
  const like = 'preferredDuringSchedulingIgnoredDuringExecution'
  const pods = (affinity: JsonObject): JsonObject => ({ affinity: { podAntiAffinity: affinity } })
  const at = 'spec.affinity'
  const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }
  await refuseEach(api, [
    [{ nodeSelector: { 'a b': '' } }, 'FieldValueInvalid spec.nodeSelector', 'name part'],
    [
      { affinity: { nodeAffinity: { [need]: {} } } },
      `FieldValueRequired ${at}.nodeAffinity.${need}.nodeSelectorTerms`,
    ],
    [
      { affinity: { nodeAffinity: { [like]: [{ weight: 0, preference: {} }] } } },
      `FieldValueInvalid ${at}.nodeAffinity.${like}[0].weight`,
      'between 1 and 100',
    ],
    [pods({ [need]: [{}] }), `FieldValueRequired ${at}.podAntiAffinity.${need}[0].topologyKey`],
    [
      pods({ [need]: [{ topologyKey: 'a', namespaces: ['B'] }] }),
      `FieldValueInvalid ${at}.podAntiAffinity.${need}[0].namespaces[0]`,
    ],
    [
      pods({ [like]: [{ weight: 101, podAffinityTerm: { topologyKey: 'a' } }] }),
      `FieldValueInvalid ${at}.podAntiAffinity.${like}[0].weight`,
    ],
    [
      pods({
        [need]: [{ topologyKey: 'a', labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }],
      }),
      `FieldValueRequired ${at}.podAntiAffinity.${need}[0].labelSelector.matchExpressions[0].values`,
    ],
    [
      { tolerations: [{ key: '' }] },
      'FieldValueInvalid spec.tolerations[0].operator',
      'Exists when `key` is empty',
    ],
    [{ tolerations: [{ key: 'a', operator: 'In' }] }, 'FieldValueNotSupported spec.tolerations[0].operator'],
    [
      { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      'FieldValueInvalid spec.tolerations[0].operator',
      'value must be empty',
    ],
    [
      { tolerations: [{ key: 'a', tolerationSeconds: 1, effect: 'NoSchedule' }] },
      'FieldValueInvalid spec.tolerations[0].effect',
      "must be 'NoExecute'",
    ],
    [{ tolerations: [{ key: 'a', effect: 'Never' }] }, 'FieldValueNotSupported spec.tolerations[0].effect'],
    [
      { topologySpreadConstraints: [{ ...spread, maxSkew: 0 }] },
      'FieldValueInvalid spec.topologySpreadConstraints[0].maxSkew',
      'must be greater than zero',
    ],
    [
      { topologySpreadConstraints: [{ ...spread, topologyKey: '' }] },
      'FieldValueRequired spec.topologySpreadConstraints[0].topologyKey',
    ],
    [
      { topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: 'Wait' }] },
      'FieldValueNotSupported spec.topologySpreadConstraints[0].whenUnsatisfiable',
    ],
    [
      { topologySpreadConstraints: [spread, spread] },
      'FieldValueDuplicate spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}',
      '{zone, DoNotSchedule}',
    ],
  ])
})

void test('names, durations and DNS settings of a Pod are validated', async () => {
  await refuseEach(api, [
    [
      { restartPolicy: 'Once' },
      'FieldValueNotSupported spec.restartPolicy',
      '"Always", "OnFailure", "Never"',
    ],
    [{ dnsPolicy: 'Cluster' }, 'FieldValueNotSupported spec.dnsPolicy'],
    [{ preemptionPolicy: 'Always' }, 'FieldValueNotSupported spec.preemptionPolicy'],
    [
      { activeDeadlineSeconds: 0 },
      'FieldValueInvalid spec.activeDeadlineSeconds',
      'between 1 and 2147483647',
    ],
    [{ hostname: 'a.b' }, 'FieldValueInvalid spec.hostname', label],
    [{ subdomain: 'A' }, 'FieldValueInvalid spec.subdomain', label],
    [{ nodeName: 'A' }, 'FieldValueInvalid spec.nodeName', subdomain],
    [{ serviceAccountName: 'A' }, 'FieldValueInvalid spec.serviceAccountName', subdomain],
    [{ priorityClassName: 'A' }, 'FieldValueInvalid spec.priorityClassName', subdomain],
    [{ runtimeClassName: 'A' }, 'FieldValueInvalid spec.runtimeClassName', subdomain],
    [
      { readinessGates: [{ conditionType: 'a b' }] },
      'FieldValueInvalid spec.readinessGates[0].conditionType',
    ],
    [{ dnsPolicy: 'None' }, 'FieldValueRequired spec.dnsConfig', 'must provide `dnsConfig`'],
    [{ dnsPolicy: 'None', dnsConfig: {} }, 'FieldValueRequired spec.dnsConfig.nameservers'],
    [
      { dnsConfig: { nameservers: ['10.0.0'] } },
      'FieldValueInvalid spec.dnsConfig.nameservers[0]',
      'valid IP address',
    ],
    [
      { dnsConfig: { nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '::1'] } },
      'FieldValueInvalid spec.dnsConfig.nameservers',
      'more than 3 nameservers',
    ],
    [{ dnsConfig: { searches: ['A'] } }, 'FieldValueInvalid spec.dnsConfig.searches[0]'],
    [
      { dnsConfig: { searches: 'abcdefg'.split('') } },
      'FieldValueInvalid spec.dnsConfig.searches',
      'more than 6',
    ],
    [
      { dnsConfig: { searches: ['a'.repeat(200), 'b'.repeat(200)] } },
      'FieldValueInvalid spec.dnsConfig.searches',
      '256',
    ],
    [{ dnsConfig: { options: [{}] } }, 'FieldValueRequired spec.dnsConfig.options[0].name'],
    [
      { hostAliases: [{ ip: 'fe80::1%eth0' }] },
      'FieldValueInvalid spec.hostAliases[0].ip',
      'valid IP address',
    ],
    [
      { hostAliases: [{ ip: '10.0.0.1', hostnames: ['A'] }] },
      'FieldValueInvalid spec.hostAliases[0].hostnames[0]',
    ],
  ])
})

void test('errors in several containers and in the Pod are reported together', async () => {
  const seen = await refused(
    api.create({ kind: 'Pod', body: podBody({ containers: [{}, { name: 'B' }], restartPolicy: 'x' }) }),
  )
  assert.deepEqual(causes(seen), [
    'FieldValueRequired spec.containers[0].name',
    'FieldValueRequired spec.containers[0].image',
    'FieldValueInvalid spec.containers[1].name',
    'FieldValueRequired spec.containers[1].image',
    'FieldValueNotSupported spec.restartPolicy',
  ])
})

void test('the mirror annotation of a Pod needs a node; it and those of AppArmor are immutable, in both domains', async (t) => {
  for (const [domain, prefix] of [
    ['orch.io', 'orch.io'],
    ['k8s.io', 'kubernetes.io'],
  ] as const) {
    const own = await Fixture.open({ domain })
    t.after(() => own.close())
    const key = `${prefix}/config.mirror`
    const profile = `container.apparmor.security.beta.${prefix}/main`
    const metadata = { annotations: { [key]: 'x', [profile]: 'runtime/default' } }
    const seen = await refused(own.create({ kind: 'Pod', body: podBody({}, metadata) }))
    assert.deepEqual(causes(seen), [`FieldValueInvalid metadata.annotations[${key}]`])
    await own.create({ kind: 'Pod', body: podBody({ nodeName: 'n' }, metadata) })
    const change = { metadata: { annotations: { [key]: null, [profile]: 'unconfined' } } }
    const kept = await refused(own.patch({ kind: 'Pod', name: 'a', body: change }))
    assert.deepEqual([...causes(kept)].sort(), [
      `FieldValueForbidden metadata.annotations[${profile}]`,
      `FieldValueForbidden metadata.annotations[${key}]`,
    ])
  }
})

void test('profile annotations name valid profiles and existing containers, in both domains', async (t) => {
  for (const [domain, prefix] of [
    ['orch.io', 'orch.io'],
    ['k8s.io', 'kubernetes.io'],
  ] as const) {
    const own = await Fixture.open({ domain })
    t.after(() => own.close())
    const ofPod = `seccomp.security.alpha.${prefix}/pod`
    const ofContainer = `container.seccomp.security.alpha.${prefix}/none`
    const armor = `container.apparmor.security.beta.${prefix}/`
    const rows: readonly (readonly [key: string, profile: string, field: string, words: string])[] = [
      [ofPod, 'nope', `.${ofPod}`, 'Invalid value: "nope": must be a valid seccomp profile'],
      [ofPod, '', `.${ofPod}`, 'must be a valid seccomp profile'],
      [ofPod, 'localhost//etc/a', `.${ofPod}`, 'must be a relative path'],
      [ofContainer, 'localhost/../a', `.${ofContainer}`, "must not contain '..'"],
      [`${armor}zz`, 'unconfined', `[${armor}zz]`, 'Invalid value: "zz": container not found'],
      [`${armor}main`, 'bad', `[${armor}main]`, 'Invalid value: "bad": invalid AppArmor profile name: "bad"'],
    ]
    const spec = { containers: [container()] }
    for (const [key, profile, field, words] of rows) {
      const metadata = { annotations: { [key]: profile } }
      const pod = await refused(own.create({ kind: 'Pod', body: podBody({}, metadata) }))
      // The field that is copied from the annotation is validated too.
      assert.equal(causes(pod).at(-1), `FieldValueInvalid metadata.annotations${field}`, profile)
      assert.ok(pod.message.includes(words), pod.message)
      const body = { metadata: { name: 'a' }, template: { metadata, spec } }
      const made = await refused(own.create({ kind: 'PodTemplate', body }))
      assert.deepEqual(causes(made), [`FieldValueInvalid template.annotations${field}`], profile)
    }
    const annotations = {
      ...{ [ofPod]: 'docker/default', [ofContainer]: 'localhost/a/b', [`${armor}main`]: 'localhost/x' },
      ...{ [`container.seccomp.security.alpha.${prefix}/main`]: 'unconfined', [`${armor}first`]: '' },
    }
    const initContainers = [container({ name: 'first' })]
    const made = await own.create({ kind: 'Pod', body: podBody({ initContainers }, { annotations }) })
    assert.equal(made.code, 201)
    const change = { metadata: { annotations: { [ofPod]: 'nope' } } }
    const changed = await refused(own.patch({ kind: 'Pod', name: 'a', body: change }))
    assert.deepEqual(causes(changed), [`FieldValueInvalid metadata.annotations.${ofPod}`])
  }
})
