/*
 * Goal: a PodSecurityPolicy has the defaults, rules and columns of upstream 1.24, and changes of
 * its spec are answered with the warning that it has no effect.
 * Method: the shipped verbs on the state machine in memory; each rule broken once; errors name
 * the fields as upstream does, some without the beginning of their path.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { objectMember } from '../../../../src/api/json.ts'
import { deprecationWords } from '../../../../src/server/http/deprecation.ts'
import { spellField } from '../../../../src/api/errors/field-error.ts'
import { Findings } from '../../../../src/api/errors/findings.ts'
import { checkSysctlOverlaps } from '../../../../src/resources/policies/sysctl-patterns.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesNew } from './common/broken-rules.ts'

const PSP = 'policy/v1beta1/PodSecurityPolicy'

const strategies = {
  seLinux: { rule: 'RunAsAny' },
  runAsUser: { rule: 'MustRunAsNonRoot' },
  supplementalGroups: { rule: 'MustRunAs', ranges: [{ min: 1, max: 9 }] },
  fsGroup: { rule: 'MayRunAs' },
}
const body: JsonObject = { metadata: { name: 'a' }, spec: strategies }

async function open(t: { after: (run: () => Promise<void>) => void }): Promise<Fixture> {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  return api
}

void test('a PodSecurityPolicy is stored, and changes of its spec are answered with a warning', async (t) => {
  const api = await open(t)
  const more = {
    volumes: ['secret', '*'],
    allowedCapabilities: ['A', 'B'],
    allowedProcMountTypes: ['Default'],
  }
  const { object } = await api.create({ kind: PSP, body: { ...body, spec: { ...strategies, ...more } } })
  assert.deepEqual(object['spec'], {
    ...{ ...strategies, allowPrivilegeEscalation: true },
    ...{ volumes: ['secret', '*'], allowedCapabilities: ['A', 'B'] },
  })
  assert.match(api.warnings.join(), /stored but not enforced by this release/)
  assert.deepEqual(cells(api, PSP, object), {
    ...{ Name: 'a', Priv: 'false', Caps: 'A,B', SELinux: 'RunAsAny', RunAsUser: 'MustRunAsNonRoot' },
    ...{ FsGroup: 'MayRunAs', SupGroup: 'MustRunAs', ReadOnlyRootFs: 'false', Volumes: 'secret,*' },
  })
  api.warnings.length = 0
  await api.patch({ kind: PSP, name: 'a', body: { metadata: { labels: { a: 'b' } } } })
  assert.deepEqual(api.warnings, [])
  await api.patch({ kind: PSP, name: 'a', body: { spec: { privileged: true } } })
  assert.equal(api.warnings.length, 1)
  assert.equal(objectMember((await api.get({ kind: PSP, name: 'a' })).object, 'spec')['privileged'], true)
})

void test('the deprecation of a PodSecurityPolicy names no replacement', async (t) => {
  const api = await open(t)
  assert.equal(
    deprecationWords(api.definition(PSP)),
    'policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+',
  )
})

void test('a PodSecurityPolicy follows the rules of upstream', async (t) => {
  const api = await open(t)
  const annotated = (key: string, value: string): JsonObject => ({
    metadata: { annotations: { [key]: value } },
  })
  await refusesNew(api, { kind: PSP, body }, [
    [
      { spec: { seLinux: null, runAsUser: null, supplementalGroups: null, fsGroup: null } },
      ['seLinux', 'runAsUser', 'supplementalGroups', 'fsGroup'].map(
        (name) => `FieldValueNotSupported spec.${name}.rule`,
      ),
      'supported values: "MustRunAs", "MustRunAsNonRoot", "RunAsAny"',
    ],
    [
      { spec: { runAsUser: { rule: 'MustRunAs', ranges: [{ min: -1, max: -2 }] } } },
      ['min', 'max', 'min'].map((name) => `FieldValueInvalid spec.runAsUser.ranges[0].${name}`),
      'min cannot be greater than max',
    ],
    [
      { spec: { runAsGroup: { rule: 'RunAsAny', ranges: [{ min: 1, max: 2 }] } } },
      ['FieldValueInvalid spec.runAsGroup.ranges'],
      'Ranges must be empty',
    ],
    [
      { spec: { runAsGroup: { rule: 'MayRunAs' } } },
      ['FieldValueInvalid spec.runAsGroup.ranges'],
      'must provide at least one range',
    ],
    [{ spec: { runAsGroup: { rule: '' } } }, ['FieldValueNotSupported spec.runAsGroup.rule']],
    [{ spec: { volumes: ['disk'] } }, ['FieldValueNotSupported spec.volumes'], '"*", "awsElasticBlockStore"'],
    [
      { spec: { requiredDropCapabilities: ['A'], allowedCapabilities: ['*'] } },
      ['FieldValueInvalid requiredDropCapabilities'],
      'must be empty when all capabilities are allowed by a wildcard',
    ],
    [
      {
        spec: {
          ...{ requiredDropCapabilities: ['A', 'B'], defaultAddCapabilities: ['A'] },
          allowedCapabilities: ['B', 'C'],
        },
      },
      ['FieldValueInvalid defaultAddCapabilities', 'FieldValueInvalid allowedCapabilities'],
      'capability is listed in allowedCapabilities and requiredDropCapabilities',
    ],
    [
      { spec: { defaultAllowPrivilegeEscalation: true, allowPrivilegeEscalation: false } },
      ['FieldValueInvalid spec.defaultAllowPrivilegeEscalation'],
      'Cannot set DefaultAllowPrivilegeEscalation to true',
    ],
    [
      { spec: { allowedHostPaths: [{ pathPrefix: '/a/../b' }, { readOnly: true }] } },
      ['FieldValueInvalid spec.allowedHostPaths[0]', 'FieldValueRequired spec.allowedHostPaths[1]'],
      "must not contain '..'",
    ],
    [
      { spec: { allowedFlexVolumes: [{}], allowedCSIDrivers: [{ name: '-' }] } },
      [
        'FieldValueRequired spec.allowedFlexVolumes.allowedFlexVolumes[0].driver',
        'FieldValueInvalid spec.allowedCSIDrivers.allowedCSIDriver[0].name',
      ],
    ],
    [
      { spec: { allowedUnsafeSysctls: ['', 'A', '*'] } },
      [
        'FieldValueInvalid spec.allowedUnsafeSysctls[0]',
        'FieldValueInvalid spec.allowedUnsafeSysctls[1]',
        'FieldValueForbidden spec.allowedUnsafeSysctls.items',
      ],
      'must have at most 253 characters and match regex',
    ],
    [
      { spec: { allowedUnsafeSysctls: ['a.*', 'b.c'], forbiddenSysctls: ['b.*', 'a.x', 'd'] } },
      ['FieldValueInvalid spec.forbiddenSysctls[1]', 'FieldValueInvalid spec.allowedUnsafeSysctls[1]'],
      'sysctl overlaps with b.*',
    ],
    [
      {
        spec: {
          runtimeClass: { allowedRuntimeClassNames: ['*', 'a', 'a', 'B'], defaultRuntimeClassName: 'C' },
        },
      },
      [
        'FieldValueDuplicate spec.runtimeClass.allowedRuntimeClassNames[2]',
        'FieldValueInvalid spec.runtimeClass.allowedRuntimeClassNames[3]',
        'FieldValueInvalid spec.runtimeClass.defaultRuntimeClassName',
        'FieldValueInvalid spec.runtimeClass.allowedRuntimeClassNames',
      ],
      "if '*' is present, must not specify other RuntimeClass names",
    ],
    [
      { spec: { runtimeClass: { allowedRuntimeClassNames: ['a'], defaultRuntimeClassName: 'b' } } },
      ['FieldValueRequired spec.runtimeClass.allowedRuntimeClassNames'],
      'default "b" must be allowed',
    ],
    [
      annotated('apparmor.security.beta.kubernetes.io/allowedProfileNames', 'unconfined,bad'),
      ['FieldValueInvalid metadata.annotations[apparmor.security.beta.kubernetes.io/allowedProfileNames]'],
      'invalid AppArmor profile name: "bad"',
    ],
    [
      annotated('seccomp.security.alpha.kubernetes.io/defaultProfileName', '*'),
      ['FieldValueInvalid metadata.annotations[seccomp.security.alpha.kubernetes.io/defaultProfileName]'],
      'must be a valid seccomp profile',
    ],
  ])
  const key = 'seccomp.security.alpha.kubernetes.io/allowedProfileNames'
  await api.create({
    kind: PSP,
    body: { ...body, metadata: { name: 'b', annotations: { [key]: '*,unconfined' } } },
  })
})

void test('overlaps of kernel parameters are those that a comparison of each pair finds', () => {
  const seed = Number(process.env['SEED'] ?? 1)
  const random = new SeededRandom(seed)
  const draw = (): string[] =>
    Array.from({ length: random.below(6) }, () => {
      const text = Array.from({ length: random.below(4) }, () => 'ab'[random.below(2)] ?? '').join('')
      return random.below(2) === 0 ? `${text}*` : text
    })
  const includes = (wide: string, text: string): boolean =>
    wide.endsWith('*') && text.replace('*', '').startsWith(wide.slice(0, -1))
  for (let round = 0; round < 2000; round++) {
    const [allowed, forbidden] = [draw(), draw()]
    const found = new Findings()
    checkSysctlOverlaps({ allowed, forbidden }, { allowed: 'a', forbidden: 'f' }, found)
    const wanted = [
      ...allowed.flatMap((text, at) =>
        forbidden.some((other) => other === text || includes(other, text)) ? [`a[${at}]`] : [],
      ),
      ...forbidden.flatMap((text, at) =>
        allowed.some((other) => other !== text && includes(other, text)) ? [`f[${at}]`] : [],
      ),
    ].sort()
    const fields = found.list.map(({ field }) => spellField(field)).sort()
    const repeat = `SEED=${seed} node --test dist/test/unit/src/resources/pod-security-policy.test.js`
    assert.deepEqual(fields, wanted, `${JSON.stringify({ allowed, forbidden })}: ${repeat} repeats this`)
  }
})
