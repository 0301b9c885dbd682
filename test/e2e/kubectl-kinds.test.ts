/*
 * Goal: kubectl supports every kind of the server: list, explain, create, get, describe and apply.
 * Method: a real kubectl against one real process without a disk (`long/variants`: in each domain);
 * objects with all fields (`support/generators/full-object.ts`). In orch.io kubectl has its own
 * descriptions only of the kinds whose group has the same name in both domains.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { objectMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { apiVersionOf, isStored } from '../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects, ownedByServer } from '../support/generators/full-object.ts'
import { collectionOf, nameOf } from '../support/fixtures/kind-path.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { everyVariant, someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()
console.log(`# kubectl ${kubectl.version}`)
const [, minor = 0] = kubectl.version.replace('v', '').split('.').map(Number)
/**
 * Older versions validate on the client, with the documents of this server, and accept only `true`.
 */
const validate = minor >= 25 ? '--validate=strict' : '--validate=true'

/** Lines that only kubectl's own description of a kind has: for other kinds it lists the fields. */
const describedAs: ReadonlyMap<string, RegExp> = new Map([
  ['CSINode', /^ +Drivers:$/m],
  ['CertificateSigningRequest', /^Requesting User:/m],
  ['ClusterRole', /^PolicyRule:\n +Resources +Non-Resource URLs +Resource Names +Verbs$/m],
  ['ClusterRoleBinding', /^Subjects:\n +Kind +Name +Namespace$/m],
  ['ConfigMap', /^BinaryData\n====$/m],
  ['CronJob', /^Last Schedule Time:/m],
  ['DaemonSet', /^Number of Nodes Misscheduled:/m],
  ['Deployment', /^StrategyType: /m],
  ['EndpointSlice', /^AddressType: /m],
  ['Endpoints', /^Subsets:$/m],
  ['HorizontalPodAutoscaler', /^Metrics: .*\( current \/ target \)/m],
  ['Ingress', /^Default backend: /m],
  ['IngressClass', /^Controller: /m],
  ['Job', /^Pods Statuses: /m],
  ['LimitRange', /^Type +Resource +Min +Max +Default Request +Default Limit +Max Limit\/Request Ratio$/m],
  ['Namespace', /^Resource Quotas?$|^No resource quota\.$/m],
  ['NetworkPolicy', /^ +PodSelector: /m],
  ['Node', /^Allocated resources:$/m],
  ['PersistentVolume', /^Reclaim Policy: /m],
  ['PersistentVolumeClaim', /^Used By: /m],
  ['Pod', /^QoS Class: /m],
  ['PodDisruptionBudget', /^ +Allowed disruptions: /m],
  ['PriorityClass', /^GlobalDefault: /m],
  ['ReplicaSet', /^Pods Status: .*Running \/ .* Waiting/m],
  ['ReplicationController', /^Pods Status: .*Running \/ .* Waiting/m],
  ['ResourceQuota', /^Resource +Used +Hard$/m],
  ['Role', /^PolicyRule:\n +Resources +Non-Resource URLs +Resource Names +Verbs$/m],
  ['RoleBinding', /^Subjects:\n +Kind +Name +Namespace$/m],
  ['Secret', /^Data\n====$/m],
  ['Service', /^Session Affinity: /m],
  ['ServiceAccount', /^Mountable secrets: /m],
  ['StatefulSet', /^Update Strategy: /m],
  ['StorageClass', /^IsDefaultClass: /m],
])

for (const domain of someDomains) {
  void describe(`kubectl and all kinds of ${domain}`, () => {
    const definitions = definitionsFor(namesOf(domain))
    const stored = definitions.filter(isStored)
    const maker = new FullObjects(namesOf(domain), 1)
    const objects = stored.map((definition) => ({ definition, object: manifest(maker, definition) }))
    /** UIDs of the created objects. */
    const uids: string[] = []
    let cluster: ProcessCluster

    before(async () => {
      const config = {
        ...{ 'data-dir': '', 'in-memory': true },
        // These plugins would refuse Pods in which every field is set, or change them.
        'disable-admission-plugins':
          'LimitRanger,ResourceQuota,Priority,RuntimeClass,DefaultTolerationSeconds',
        // Services in which every field is set have two families.
        'service-cluster-ip-range': ['10.96.0.0/12', 'fd00::/108'],
        // This controller would remove Pods whose Node does not exist, after 40 s.
        controllers: '*,-podgc',
      }
      cluster = await ProcessCluster.start({ members: 1, domain, config })
    })
    after(() => cluster.remove())

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('spec 4.1: api-resources and api-versions list every kind with its names, scope and verbs', async () => {
      const rows = (await ok(['api-resources', '-o', 'wide', '--no-headers'])).split('\n')
      for (const definition of definitions) {
        const { plural, kind, shortNames, scope, verbs } = definition
        const given = [plural, ...(shortNames.length > 0 ? [shortNames.join(',')] : [])]
        const row = rows
          .map((line) => line.trim().split(/\s{2,}/))
          .find((words) => {
            return words[0] === plural && words.includes(apiVersionOf(definition))
          })
        // kubectl lists only the preferred one of several versions.
        if (row === undefined && definition.storedAs !== undefined) continue
        if (row === undefined && definition.version !== 'v1') continue
        assert.ok(row !== undefined, `${plural} is missing`)
        assert.deepEqual(row.slice(0, given.length), given)
        assert.ok(row.includes(kind) && row.includes(String(scope === 'Namespaced')), row.join(' '))
        for (const verb of verbs) assert.match(row.join(' '), new RegExp(`\\b${verb}\\b`))
      }
      const versions = (await ok(['api-versions'])).trim().split('\n')
      for (const definition of definitions) assert.ok(versions.includes(apiVersionOf(definition)))
    })

    void test('explain lists the fields of kinds recursively', async () => {
      // kubectl reads the whole document each time, which takes most of a second of processor time.
      // That the documents have all fields of all kinds is checked without it.
      const explained = definitions.filter((_, at) => everyVariant || at % 12 === 0)
      for (const definition of explained) {
        const { group, plural, kind, schema } = definition
        const of = `--api-version=${apiVersionOf(definition)}`
        const text = await ok(['explain', plural, '--recursive', of])
        assert.match(text, new RegExp(`KIND:\\s+${kind}\\b`), `${plural}.${group}`)
        for (const name of [...Object.keys(schema.properties), 'metadata', 'ownerReferences']) {
          assert.match(text, new RegExp(`^\\s*${name}\\s+<`, 'm'), `${kind} has ${name}`)
        }
      }
    })

    void test('create takes an object of every kind, validated, and a get returns it with its annotations', async () => {
      const requested = definitions.filter(({ review }) => review !== undefined)
      const reviews = requested.map((definition) => manifest(maker, definition))
      const { client } = cluster.members[0] ?? assert.fail('one member')
      // Pods need the account that they name.
      for (const { object } of objects.filter((one) => one.definition.kind === 'Pod')) {
        const account = textMember(objectMember(object, 'spec'), 'serviceAccountName')
        await ok(['create', 'serviceaccount', '-n', 'default', account])
      }
      const made = await ok(['create', validate, '-f', '-'], documents(objects.map(({ object }) => object)))
      assert.equal(made.trim().split('\n').length, objects.length, made)
      // kubectl treats a kind without patch as custom and requests its definition, regardless of
      // discovery.
      const answered = await ok(['create', validate, '-f', '-'], documents(reviews))
      assert.equal(answered.trim().split('\n').length, reviews.length, answered)
      for (const [at, { definition, object }] of objects.entries()) {
        const path = `${collectionOf(definition)}/${nameOf(object)}`
        const text = at % 20 === 0 ? await ok(['get', '--raw', path]) : (await client.get(path)).text
        const raw = JSON.parse(text) as JsonObject
        const shown = objectMember(objectMember(raw, 'metadata'), 'annotations')
        // The server may add annotations, such as those of the profiles of a Pod.
        for (const [key, given] of Object.entries(
          objectMember(objectMember(object, 'metadata'), 'annotations'),
        ))
          assert.equal(shown[key], given, `${path}: ${key}`)
        uids.push(textMember(objectMember(raw, 'metadata'), 'uid'))
      }
    })

    void test('get shows an object of every kind in a wide table and in JSON, and prints YAML', async () => {
      const listed = stored.map(fullName).join(',')
      const wide = await ok(['get', listed, '-A', '-o', 'wide'])
      const json = JSON.parse(await ok(['get', listed, '-A', '-o', 'json'])) as {
        readonly items: readonly JsonObject[]
      }
      const names = json.items.map(nameOf)
      for (const { object } of objects) {
        assert.ok(wide.includes(nameOf(object)), `a row of ${textMember(object, 'kind')} in\n${wide}`)
        assert.ok(names.includes(nameOf(object)))
      }
      assert.doesNotMatch(wide, /\[object|undefined|NaN/)
      assert.match(await ok(['get', listed, '-A', '-o', 'yaml']), /^kind: List$/m)
    })

    void test('get sorts by a field and prints selected fields', async () => {
      for (const [name, rank] of [
        ['b', 2],
        ['a', 3],
        ['c', 1],
      ] as const) {
        const data = { rank: String(rank) }
        const metadata = { name, labels: { of: 'ranks' }, namespace: 'default' }
        await ok(
          ['create', '-f', '-'],
          JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
        )
      }
      const ask = (...more: readonly string[]) => ok(['get', 'cm', '-l', 'of=ranks', ...more])
      assert.equal(await ask('--sort-by=.data.rank', '-o', 'name'), 'configmap/c\nconfigmap/b\nconfigmap/a\n')
      assert.equal(await ask('-o', 'jsonpath={.items[*].data.rank}'), '3 2 1')
      const columns = await ask('--no-headers', '-o', 'custom-columns=N:.metadata.name,R:.data.rank')
      assert.deepEqual(columns.trim().split(/\s+/), ['a', '3', 'b', '2', 'c', '1'])
      assert.match(await ask('--sort-by=.metadata.name'), /^NAME +DATA +AGE\na +1 +[0-9a-z]+\nb /)
    })

    void test('describe shows an object of every kind with its events', async () => {
      const happened = objects.map(({ definition, object }, at) => event(definition, object, uids[at] ?? ''))
      await ok(['create', validate, '-f', '-'], documents(happened))
      const reported = new Set<string>()
      const names = objects.map(({ definition, object }) => `${fullName(definition)}/${nameOf(object)}`)
      const texts = (await ok(['describe', '-n', 'default', ...names])).split(/\n{2,}(?=Name: )/)
      assert.equal(texts.length, objects.length, texts.join('\n--\n'))
      for (const [at, { definition, object }] of objects.entries()) {
        const text = texts[at] ?? ''
        assert.match(text, new RegExp(`^Name: +${nameOf(object)}$`, 'm'), textMember(object, 'kind'))
        const own = domain === 'k8s.io' ? describedAs.get(definition.kind) : undefined
        if (own !== undefined) assert.match(text, own, definition.kind)
        // kubectl shows no events for some kinds.
        if (!/^Events:/m.test(text)) continue
        assert.match(text, new RegExp(` Warning +Looked .* tester +saw ${nameOf(object)}$`, 'm'))
        reported.add(definition.kind)
      }
      if (domain !== 'k8s.io') return
      for (const kind of ['ConfigMap', 'Lease', 'Node', 'PersistentVolume', 'Pod', 'ServiceAccount']) {
        assert.ok(reported.has(kind), `${kind} among ${[...reported].join(', ')}`)
      }
    })

    void test('every kind can be applied twice, which creates no further object', async () => {
      const manifests = documents(objects.map(({ object }) => object))
      const lines = (await ok(['apply', '-f', '-'], manifests)).trim().split('\n')
      assert.equal(lines.length, objects.length, lines.join('\n'))
      const again = await ok(['apply', '-f', '-'], manifests)
      assert.equal(again.trim().split('\n').length, objects.length, again)
      assert.match(again, /^configmap\/\S+ unchanged$/m)
      assert.doesNotMatch(again, / created$/m)
    })

    if (domain === 'k8s.io') {
      void test('kubectl auth can-i uses access reviews', async () => {
        assert.equal(await ok(['auth', 'can-i', 'create', 'pods']), 'yes\n')
        const other = await kubectl.run(cluster.kubeconfig, ['auth', 'can-i', 'get', 'pods', '--as=nobody'])
        assert.deepEqual([other.code, other.stdout], [1, 'no\n'])
        assert.match(await ok(['auth', 'can-i', '--list']), /\*\.\* +\[\] +\[\] +\[\*\]/)
      })
    }
  })
}

/**
 * Returns the object as a user writes it: without fields that the server sets, and without owners
 * and finalizers, which do not exist.
 */
function manifest(maker: FullObjects, definition: ResourceDefinition): JsonObject {
  const object = without(maker.object(definition, 0), ['status'])
  const others = [...Object.keys(ownedByServer), 'ownerReferences', 'finalizers', 'generateName']
  return printable({ ...object, metadata: without(objectMember(object, 'metadata'), others) })
}

/** An event about the object, in the form of the core group. */
function event({ kind, scope }: ResourceDefinition, object: JsonObject, uid: string): JsonObject {
  const now = '2026-01-02T03:04:05Z'
  const namespace = scope === 'Namespaced' ? { namespace: 'default' } : {}
  return {
    ...{ apiVersion: 'v1', kind: 'Event', type: 'Warning', reason: 'Looked', count: 1 },
    metadata: { namespace: 'default', name: `${nameOf(object)}.seen` },
    involvedObject: { apiVersion: object['apiVersion'] ?? '', kind, ...namespace, name: nameOf(object), uid },
    message: `saw ${nameOf(object)}`,
    ...{ source: { component: 'tester' }, firstTimestamp: now, lastTimestamp: now },
  }
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** Returns the object without the characters that kubectl cannot print as YAML. */
function printable(object: JsonObject): JsonObject {
  const text = JSON.stringify(object, (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/(?![\n\t])\p{Cc}|\ufeff/gu, '') : value,
  )
  return JSON.parse(text) as JsonObject
}

function documents(objects: readonly JsonObject[]): string {
  return objects.map((object) => JSON.stringify(object)).join('\n')
}

/**
 * Returns the plural name with version and group, as kinds of several groups may have the same
 * name.
 */
function fullName({ plural, version, group }: ResourceDefinition): string {
  return group === '' ? plural : `${plural}.${version}.${group}`
}
