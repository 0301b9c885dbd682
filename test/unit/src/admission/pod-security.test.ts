/*
 * Goal: PodSecurity decides as that of upstream 1.24, in its words: levels, versions, modes,
 * exemptions, templates, and labels of namespaces.
 * Method: a table of Pods through the checks; the shipped plugin and verbs in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import type { LocalPlugin } from '../../../../src/admission/chain.ts'
import { checkConfigurationShape } from '../../../../src/admission/plugin-configuration.ts'
import {
  podSecurityConfigurationShape,
  readPodSecurityConfiguration,
} from '../../../../src/admission/pod-security/configuration.ts'
import { spellViolations, violationsOf } from '../../../../src/admission/pod-security/evaluate.ts'
import { podSecurity } from '../../../../src/admission/pod-security/pod-security.ts'
import type { Level } from '../../../../src/admission/pod-security/policy.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { causes, Fixture, refused } from '../registry/fixture.ts'

const names = namesOf('k8s.io')

/** Satisfies level restricted. */
const good = {
  ...{ runAsNonRoot: true, allowPrivilegeEscalation: false },
  ...{ seccompProfile: { type: 'RuntimeDefault' }, capabilities: { drop: ['ALL'] } },
}

function specOf(security: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { containers: [{ name: 'c', image: 'i', securityContext: { ...good, ...security } }], ...more }
}

function spell(
  level: Level,
  spec: JsonObject,
  of: { readonly minor?: number; readonly annotations?: Record<string, string> } = {},
): string {
  const { minor = null, annotations = {} } = of
  return spellViolations(violationsOf({ level, minor }, { annotations, spec, names }))
}

void test('spec 5.9: each check of level baseline forbids what upstream forbids, in its words', () => {
  const c = 'container "c" must not'
  for (const [spec, words] of [
    [specOf({ privileged: true }), `privileged (${c} set securityContext.privileged=true)`],
    [
      specOf({ capabilities: { add: ['SYS_TIME', 'CHOWN', 'NET_RAW'] } }),
      `non-default capabilities (${c} include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add)`,
    ],
    [specOf({}, { hostNetwork: true, hostIPC: true }), 'host namespaces (hostNetwork=true, hostIPC=true)'],
    [specOf({}, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }), 'hostPath volumes (volume "v")'],
    [specOf({ procMount: 'Unmasked' }), `procMount (${c} set securityContext.procMount to "Unmasked")`],
    [
      specOf({ seLinuxOptions: { type: 'bad', user: 'u' } }),
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "bad"; user may not be set)',
    ],
    [
      specOf({ seccompProfile: { type: 'Unconfined' } }),
      `seccompProfile (${c} set securityContext.seccompProfile.type to "Unconfined")`,
    ],
    [
      specOf({}, { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      specOf(
        { windowsOptions: { hostProcess: true } },
        { securityContext: { windowsOptions: { hostProcess: true } } },
      ),
      'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    [
      {
        containers: [
          { name: 'a', ports: [{ hostPort: 80 }] },
          { name: 'b', ports: [{ hostPort: 443 }] },
        ],
      },
      'hostPort (containers "a", "b" use hostPorts 443, 80)',
    ],
  ] as const)
    assert.equal(spell('baseline', spec), words)
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' }
  assert.equal(
    spell('baseline', specOf(), { annotations }),
    'forbidden AppArmor profile (container.apparmor.security.beta.kubernetes.io/c="unconfined")',
  )
  assert.equal(spell('privileged', specOf({ privileged: true })), '')
  assert.equal(spell('baseline', { containers: [{ name: 'c' }] }), '')
})

void test('spec 5.9: each check of level restricted forbids what upstream forbids, in its words', () => {
  const c = 'container "c" must'
  assert.equal(spell('restricted', specOf()), '')
  for (const [spec, words] of [
    [
      specOf({ allowPrivilegeEscalation: true }),
      `allowPrivilegeEscalation != false (${c} set securityContext.allowPrivilegeEscalation=false)`,
    ],
    [
      specOf({ capabilities: { add: ['NET_RAW', 'NET_BIND_SERVICE'] } }),
      `unrestricted capabilities (${c} set securityContext.capabilities.drop=["ALL"]; ${c} not include "NET_RAW" in securityContext.capabilities.add)`,
    ],
    [
      specOf(
        {},
        {
          volumes: [
            { name: 'v', hostPath: { path: '/' } },
            { name: 'w', nfs: {} },
            { name: 's', secret: {} },
          ],
        },
      ),
      'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    ],
    [
      specOf({ runAsNonRoot: false }),
      `runAsNonRoot != true (${c} not set securityContext.runAsNonRoot=false)`,
    ],
    [specOf({ runAsUser: 0 }), `runAsUser=0 (${c} not set runAsUser=0)`],
    [
      specOf({}, { securityContext: { runAsNonRoot: false } }),
      'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
    ],
  ] as const)
    assert.equal(spell('restricted', spec), words)
  const bare = { containers: [{ name: 'c' }], hostPID: true }
  assert.equal(
    spell('restricted', bare),
    'host namespaces (hostPID=true), ' +
      `allowPrivilegeEscalation != false (${c} set securityContext.allowPrivilegeEscalation=false), ` +
      `unrestricted capabilities (${c} set securityContext.capabilities.drop=["ALL"]), ` +
      `runAsNonRoot != true (pod or ${c} set securityContext.runAsNonRoot=true), ` +
      `seccompProfile (pod or ${c} set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
  )
})

void test('spec 5.9: a version has the checks of its release', () => {
  const spec = { containers: [{ name: 'c', securityContext: { runAsNonRoot: true, runAsUser: 0 } }] }
  const reasons = (minor: number): readonly string[] =>
    violationsOf({ level: 'restricted', minor }, { annotations: {}, spec, names }).map(({ reason }) => reason)
  const escalation = 'allowPrivilegeEscalation != false'
  assert.deepEqual(reasons(7), [])
  assert.deepEqual(reasons(18), [escalation])
  assert.deepEqual(reasons(21), [escalation, 'seccompProfile'])
  assert.deepEqual(reasons(22), [escalation, 'unrestricted capabilities', 'seccompProfile'])
  assert.deepEqual(reasons(24), [escalation, 'unrestricted capabilities', 'runAsUser=0', 'seccompProfile'])
  assert.deepEqual(reasons(99), reasons(24))
  const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }
  assert.equal(
    spell('baseline', { containers: [] }, { minor: 18, annotations }),
    'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
  )
  assert.equal(spell('baseline', { containers: [] }, { minor: 19, annotations }), '')
})

async function open(
  t: TestContext,
  domain: ApiDomain = 'k8s.io',
  configuration: JsonObject = {},
): Promise<Fixture> {
  const read = readPodSecurityConfiguration(configuration, (words) => assert.fail(words))
  const plugin = podSecurity({ names: namesOf(domain), configuration: read })
  const api = await Fixture.open({ domain, admission: admissionChain([plugin]) })
  t.after(() => api.close())
  return api
}

function label(api: Fixture, labels: JsonObject): ReturnType<Fixture['patch']> {
  return api.patch({ kind: 'Namespace', name: 'default', body: { metadata: { labels } } })
}

function pod(
  api: Fixture,
  name: string,
  security: JsonObject,
  more: JsonObject = {},
): ReturnType<Fixture['create']> {
  return api.create({ kind: 'Pod', body: { metadata: { name }, spec: specOf(security, more) } })
}

for (const [domain, prefix] of [
  ['orch.io', 'pod-security.orch.io'],
  ['k8s.io', 'pod-security.kubernetes.io'],
] as const) {
  void test(`spec 5.9: ${domain}: labels of the namespace set what is refused and what is warned of`, async (t) => {
    const api = await open(t, domain)
    await pod(api, 'before', { privileged: true, allowPrivilegeEscalation: true })
    await label(api, {
      [`${prefix}/enforce`]: 'baseline',
      [`${prefix}/warn`]: 'restricted',
      [`${prefix}/warn-version`]: 'v1.24',
    })
    assert.deepEqual(api.warnings.splice(0), [
      'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
      'before: privileged',
    ])
    const bad = { privileged: true, allowPrivilegeEscalation: true }
    const seen = await refused(pod(api, 'a', bad))
    assert.equal(seen.code, 403)
    assert.equal(
      seen.message,
      'pods "a" is forbidden: violates PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)',
    )
    assert.deepEqual(api.warnings, [])
    const warning =
      'would violate PodSecurity "restricted:v1.24": runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)'
    await pod(api, 'b', { runAsNonRoot: false })
    assert.deepEqual(api.warnings.splice(0), [warning])
    // Templates are warned of, not refused.
    const template = { spec: specOf({ runAsNonRoot: false, ...bad }) }
    await api.create({ kind: 'PodTemplate', body: { metadata: { name: 't' }, template } })
    assert.match(api.warnings.splice(0).join(), /^would violate PodSecurity "restricted:v1\.24": privileged/)
    // Fields that no check reads may change.
    const image = { spec: { containers: [{ name: 'c', image: 'other' }] } }
    const contentType = 'application/strategic-merge-patch+json'
    assert.equal((await api.patch({ kind: 'Pod', name: 'before', contentType, body: image })).code, 200)
    assert.deepEqual(api.warnings, [])
  })
}

void test('spec 5.9: labels that cannot be read are refused when they are new', async (t) => {
  const api = await open(t)
  const key = (name: string): string => `pod-security.kubernetes.io/${name}`
  const seen = await refused(label(api, { [key('enforce')]: 'strict', [key('audit-version')]: '1.24' }))
  assert.deepEqual(causes(seen), [
    `FieldValueInvalid metadata.labels[${key('enforce')}]`,
    `FieldValueInvalid metadata.labels[${key('audit-version')}]`,
  ])
  assert.match(seen.message, /must be one of privileged, baseline, restricted/)
  assert.match(seen.message, /must be "latest" or "v1\.x"/)
})

void test('spec 5.9: labels that cannot be read and were there before do not block other changes', async (t) => {
  const key = (name: string): string => `pod-security.kubernetes.io/${name}`
  const read = readPodSecurityConfiguration({}, (words) => assert.fail(words))
  const { name, validate } = podSecurity({ names: namesOf('k8s.io'), configuration: read })
  let isEnabled = false
  const plugin: LocalPlugin = {
    name,
    validate: (request) => {
      if (isEnabled) void validate?.(request)
    },
  }
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([plugin]) })
  t.after(() => api.close())
  await label(api, { [key('enforce')]: 'strict' })
  isEnabled = true
  await label(api, { other: 'yes' })
  await label(api, { [key('warn')]: 'baseline' })
  for (const wrong of [{ [key('enforce')]: 'stricter' }, { [key('audit')]: 'strict' }])
    assert.equal((await refused(label(api, wrong))).code, 422)
  await label(api, { [key('enforce')]: 'restricted' })
})

void test('spec 5.9: the configuration has the defaults of namespaces, and what is exempt', async (t) => {
  const api = await open(t, 'k8s.io', {
    defaults: { enforce: 'restricted', 'enforce-version': 'v1.24' },
    exemptions: { usernames: ['jane'], namespaces: ['free'], runtimeClasses: ['vm'] },
  })
  const bad = { runAsUser: 0 }
  assert.match(
    (await refused(pod(api, 'a', bad))).message,
    /violates PodSecurity "restricted:v1\.24": runAsUser=0/,
  )
  const user = { name: 'jane', uid: '', groups: [], extra: {} }
  const body = { metadata: { name: 'b' }, spec: specOf(bad) }
  assert.equal((await api.create({ kind: 'Pod', user, body })).code, 201)
  assert.equal((await pod(api, 'c', bad, { runtimeClassName: 'vm' })).code, 201)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'free' } } })
  assert.equal((await api.create({ kind: 'Pod', namespace: 'free', body })).code, 201)
  const problems: string[] = []
  readPodSecurityConfiguration(
    { defaults: { enforce: 'x', warm: 'y' }, exemptions: { users: [] } },
    (words) => void problems.push(words),
  )
  assert.deepEqual(problems.sort(), [
    'defaults.enforce: must be one of privileged, baseline, restricted',
    'defaults.warm: unknown field',
    'exemptions.users: unknown field',
  ])
})

void test('a misspelled configuration is refused, since its plugin would stay at the defaults', () => {
  const problemsIn = (given: JsonObject): readonly string[] => {
    const problems: string[] = []
    const shape = podSecurityConfigurationShape(namesOf('k8s.io'))
    checkConfigurationShape(given, shape, (words) => void problems.push(words))
    return problems
  }
  const head = { apiVersion: 'pod-security.admission.config.k8s.io/v1', kind: 'PodSecurityConfiguration' }
  assert.deepEqual(problemsIn({ ...head, defaults: {}, exemptions: {} }), [])
  assert.deepEqual(problemsIn({ kind: 'Nonsense', default: { enforce: 'baseline' } }), [
    'kind: must be PodSecurityConfiguration',
    'apiVersion: must be pod-security.admission.config.k8s.io/v1 or ' +
      'pod-security.admission.config.k8s.io/v1beta1 or pod-security.admission.config.k8s.io/v1alpha1',
    'default: unknown field; the fields are defaults, exemptions',
  ])
  const problems: string[] = []
  readPodSecurityConfiguration({ defaults: [], exemptions: 'all' }, (words) => void problems.push(words))
  assert.deepEqual(problems, ['defaults: must be an object', 'exemptions: must be an object'])
})

void test('labelling a namespace checks only as many of its large Pods as may be parsed in one turn', async (t) => {
  const api = await open(t)
  const value = 'x'.repeat(900 * 1024)
  for (let at = 0; at < 12; at++) {
    const container = { name: 'c', image: 'i', securityContext: good, env: [{ name: 'E', value }] }
    const body = { metadata: { name: `p${at}` }, spec: { containers: [container] } }
    await api.create({ kind: 'Pod', body })
  }
  await label(api, { 'pod-security.kubernetes.io/enforce': 'restricted' })
  assert.deepEqual(api.warnings.splice(0), ['large namespace: only checking the first 10 of 12 pods'])
})
