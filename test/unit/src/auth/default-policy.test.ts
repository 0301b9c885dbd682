/*
 * Goal: the default roles and bindings are those of release 1.24, under the names of the domain.
 * Method: compares the objects with tables of upstream's, and differences with a short list.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { objectMember, objectsMember, textMember, textsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import { policyObjects } from '../../../../src/auth/bootstrap/policy-objects.ts'
import type { PolicyObject } from '../../../../src/auth/bootstrap/policy-objects.ts'
import { Findings } from '../../../../src/api/errors/findings.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'

/** The rules of this server's own paths; a HEAD request is a verb of its own there. */
const ownRoles: Readonly<Record<string, readonly string[]>> = {
  'system:discovery': [
    'get,head | PATHS | /api,/api/*,/apis,/apis/*,/healthz,/healthz/*,/livez,/livez/*,/openapi,/openapi/*,/readyz,/readyz/*,/version,/version/',
  ],
  'system:joining': ['post | PATHS | /cluster/v1/join'],
  'system:monitoring': [
    'get,head | PATHS | /cluster/v1/status,/healthz,/healthz/*,/livez,/livez/*,/metrics,/readyz,/readyz/*',
  ],
  'system:public-info-viewer': [
    'get,head | PATHS | /healthz,/healthz/*,/livez,/livez/*,/readyz,/readyz/*,/version,/version/',
  ],
  'system:service-account-issuer-discovery': [
    'get,head | PATHS | /.well-known/openid-configuration,/openid/v1/jwks',
  ],
}

const ownBindings = ['system:joining | system:joining | Group system:joining']

void test('the default roles are those of release 1.24, and those for paths of this server', () => {
  const expected = new Map([...upstreamRoles(), ...Object.entries(ownRoles)])
  assert.deepEqual(differences(expected, ourRoles('k8s.io')), [])
})

void test('the default bindings are those of release 1.24, and one for joining members', () => {
  const controllers = [...upstreamRoles().keys()].filter((name) => name.startsWith('system:controller:'))
  const expected = [
    ...linesOf('default-bindings.txt').filter((line) => line !== ''),
    ...controllers.map((name) => {
      return `${name} | ${name} | ServiceAccount kube-system/${name.slice('system:controller:'.length)}`
    }),
    ...ownBindings,
  ]
  const ours = objectsOf('k8s.io').filter(({ plural }) => plural.endsWith('bindings'))
  assert.deepEqual(ours.map(({ object }) => bindingText(object)).sort(), expected.sort())
})

void test('in another domain the default policy differs in the names of the domain alone', () => {
  const renamed = (text: string): string => {
    const parts: readonly (readonly [string, string])[] = [
      ['kube-system', 'system-ns'],
      ['kube-public', 'public-ns'],
      ['kube-apiserver-client-kubelet', 'apiserver-client-nodeagent'],
      ['kube-apiserver-client', 'apiserver-client'],
      ['kubelet-serving', 'nodeagent-serving'],
      ['k8s.io', 'orch.io'],
      ['kubernetes.io', 'orch.io'],
    ]
    return parts.reduce((result, [from, to]) => result.replaceAll(from, to), text)
  }
  // Lists are sorted, and the names of signers sort differently.
  const lettersOf = (text: string): string => [...text].sort().join('')
  const upstream = objectsOf('k8s.io').map(({ object }) => renamed(JSON.stringify(object)))
  const ours = objectsOf('orch.io').map(({ object }) => JSON.stringify(object))
  assert.equal(ours.length, upstream.length)
  for (const [at, text] of ours.entries()) assert.equal(lettersOf(text), lettersOf(upstream[at] ?? ''), text)
})

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`every default object of ${domain} is valid, labelled and unique, and every binding refers to a default role`, () => {
    const names = namesOf(domain)
    const definitions = definitionsFor(names)
    const objects = objectsOf(domain)
    const known = new Set(objects.map(keyText))
    assert.equal(known.size, objects.length)
    for (const { plural, object } of objects) {
      const { metadata } = object
      assert.equal(metadata.labels?.[names.rbac.bootstrappingLabel], 'rbac-defaults')
      assert.equal(metadata.annotations?.[names.rbac.autoupdateAnnotation], 'true')
      const definition = definitions.find((one) => one.plural === plural)
      assert.ok(definition)
      const found = new Findings()
      definition.hooks.validate?.(object, found)
      assert.deepEqual(found.list, [], metadata.name)
      if (!plural.endsWith('bindings')) continue
      const role = objectMember(object, 'roleRef')
      const at = textMember(role, 'kind') === 'Role' ? `roles/${metadata.namespace}` : 'clusterroles/'
      assert.ok(known.has(`${at}/${textMember(role, 'name')}`), metadata.name)
    }
  })
}

function objectsOf(domain: ApiDomain): readonly PolicyObject[] {
  const names = namesOf(domain)
  return policyObjects(names, defaultPolicy(names))
}

function keyText({ plural, object }: PolicyObject): string {
  return `${plural}/${object.metadata.namespace ?? ''}/${object.metadata.name}`
}

function nameText(object: JsonObject): string {
  const metadata = objectMember(object, 'metadata')
  const namespace = textMember(metadata, 'namespace')
  return `${namespace === '' ? '' : `${namespace}/`}${textMember(metadata, 'name')}`
}

function linesOf(file: string): readonly string[] {
  const path = normalize(fileURLToPath(new URL(`../../../../../test/facts/${file}`, import.meta.url)))
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('#') ? [] : [line.trim()]))
}

/** The lines of each role of the table, sorted. */
function upstreamRoles(): Map<string, readonly string[]> {
  const roles = new Map<string, string[]>()
  let lines: string[] = []
  for (const line of linesOf('default-roles.txt')) {
    if (line.startsWith('role ')) roles.set(line.slice('role '.length), (lines = []))
    else if (line !== '') lines.push(line)
  }
  return new Map([...roles].map(([name, of]) => [name, of.sort()]))
}

function ourRoles(domain: ApiDomain): Map<string, readonly string[]> {
  const roles = objectsOf(domain).filter(({ plural }) => !plural.endsWith('bindings'))
  return new Map(roles.map(({ object }) => [nameText(object), roleLines(object)]))
}

function roleLines(role: JsonObject): readonly string[] {
  const prefix = 'rbac.authorization.k8s.io/aggregate-to-'
  const labels = objectMember(objectMember(role, 'metadata'), 'labels')
  const named = Object.keys(labels).filter((key) => key.startsWith(prefix) && labels[key] === 'true')
  const selectors = objectsMember(objectMember(role, 'aggregationRule'), 'clusterRoleSelectors')
  const selected = selectors.flatMap((selector) => Object.keys(objectMember(selector, 'matchLabels')))
  const rules = objectsMember(role, 'rules').map((rule) => {
    const list = (name: string): string => textsMember(rule, name).join(',')
    const urls = list('nonResourceURLs')
    if (urls !== '') return `${list('verbs')} | PATHS | ${urls}`
    const groups = textsMember(rule, 'apiGroups').map((group) => (group === '' ? 'core' : group))
    const parts = [list('verbs'), groups.join(','), list('resources'), list('resourceNames')]
    return parts.filter((part) => part !== '').join(' | ')
  })
  return [
    ...named.map((key) => `labels ${key.slice(prefix.length)}`),
    ...selected.map((key) => `aggregates ${key.slice(prefix.length)}`),
    ...rules,
  ].sort()
}

function bindingText(binding: JsonObject): string {
  const subjects = objectsMember(binding, 'subjects').map((subject) => {
    return `${textMember(subject, 'kind')} ${nameText({ metadata: subject })}`
  })
  const role = textMember(objectMember(binding, 'roleRef'), 'name')
  return `${nameText(binding)} | ${role} | ${subjects.join(', ')}`.trim()
}

/** One line for each rule that only one side has. */
function differences(
  expected: ReadonlyMap<string, readonly string[]>,
  ours: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  return [...new Set([...expected.keys(), ...ours.keys()])].flatMap((role) => {
    const [wanted, given] = [expected.get(role), ours.get(role)]
    if (wanted === undefined) return [`${role}: not in the table`]
    if (given === undefined) return [`${role}: missing`]
    return [
      ...wanted.filter((line) => !given.includes(line)).map((line) => `${role}: lacks ${line}`),
      ...given.filter((line) => !wanted.includes(line)).map((line) => `${role}: has ${line}`),
    ]
  })
}
