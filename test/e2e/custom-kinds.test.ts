/*
 * Goal: a custom kind works like a built-in one, through any member, as soon as its definition is
 * established, also after members were killed and restarted.
 * Method: a real kubectl and a client library against three real processes, each step through
 * another one; `kubectl auth can-i` and the client library in k8s.io only.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { customDefinition, customSchema } from '../support/fixtures/custom-definition.ts'
import type { DefinitionWords } from '../support/fixtures/custom-definition.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()
console.log(`# kubectl ${kubectl.version}`)
const [, minor = 0] = kubectl.version.replace('v', '').split('.').map(Number)
/** Older versions validate on the client, and accept only `true`. */
const strict = minor >= 25 ? '--validate=strict' : '--validate=true'

const properties = {
  size: { type: 'integer', minimum: 1, description: 'How large it is.' },
  color: { type: 'string', default: 'blue' },
}
const version = {
  ...{ name: 'v1', served: true, storage: true },
  schema: { openAPIV3Schema: customSchema(properties) },
  subresources: { status: {} },
  additionalPrinterColumns: [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 1 },
  ],
}
const words: DefinitionWords = {
  names: { shortNames: ['wd'], categories: ['toys'] },
  versions: [version],
}

function widget(name: string, more: JsonObject = {}): JsonObject {
  return {
    ...{ apiVersion: 'example.com/v1', kind: 'Widget' },
    metadata: { name, namespace: 'default' },
    spec: { size: 3 },
    ...more,
  }
}

for (const domain of someDomains) {
  void describe(`custom kinds in the ${domain} domain`, () => {
    const names = namesOf(domain)
    const crds = `customresourcedefinitions.${names.group('apiextensions')}`
    const crd = `${crds}/widgets.example.com`
    let cluster: ProcessCluster

    before(async () => {
      // The log retains so few entries that a member that was away needs a snapshot of the state.
      cluster = await ProcessCluster.start({ members: 3, domain, config: { 'log-retention-entries': 500 } })
    })
    after(() => cluster.remove())

    const run = (at: string, args: readonly string[], input?: unknown): Promise<KubectlResult> => {
      const text = input === undefined ? undefined : JSON.stringify(input)
      return kubectl.run(cluster.kubeconfig, ['--context', at, ...args], text)
    }
    const ok = (at: string, args: readonly string[], input?: unknown): Promise<string> => {
      const text = input === undefined ? undefined : JSON.stringify(input)
      return kubectl.ok(cluster.kubeconfig, ['--context', at, ...args], text)
    }
    const shown = async (at: string, name: string, kind = 'widgets'): Promise<JsonObject> =>
      JSON.parse(await ok(at, ['get', kind, name, '-o', 'json'])) as JsonObject

    void test('a kind is served by every member once its definition is established', async () => {
      await ok('n1', ['create', strict, '-f', '-'], customDefinition(names, words))
      await ok('n2', ['wait', '--for=condition=Established', crd, '--timeout=100s'])
      assert.equal(
        await ok('n3', ['apply', strict, '-f', '-'], widget('a')),
        'widget.example.com/a created\n',
      )
      assert.match(await ok('n1', ['get', 'wd']), /^NAME +SIZE\na +3\n$/)
      assert.match(await ok('n2', ['get', 'widgets', '-o', 'wide']), /^NAME +SIZE +COLOR\na +3 +blue\n$/)
      assert.match(await ok('n3', ['get', 'toys', '-o', 'name']), /^widget.example.com\/a$/m)
      assert.match(
        await ok('n1', ['api-resources', '--api-group=example.com']),
        /^widgets +wd +example.com\/v1 +true +Widget$/m,
      )
      assert.match(await ok('n2', ['get', crds]), /^NAME +CREATED AT\nwidgets.example.com +20\S+\n$/)
    })

    void test('kubectl explain and validation use the schema of the definition', async () => {
      assert.match(await ok('n2', ['explain', 'widgets.spec.size']), /How large it is\./)
      assert.match(await ok('n3', ['explain', 'widgets', '--recursive']), /^ +color\s+<string>/m)
      const unknown = await run('n1', ['create', strict, '-f', '-'], widget('bad', { spec: { siez: 3 } }))
      assert.equal(unknown.code, 1)
      assert.match(unknown.stderr, /unknown field "(?:Widget\.)?spec\.siez"|unknown field "siez"/)
      const small = await run(
        'n2',
        ['create', '--validate=false', '-f', '-'],
        widget('bad', { spec: { size: 0 } }),
      )
      assert.match(small.stderr, /spec\.size in body should be greater than or equal to 1/)
      await ok('n3', ['create', '--validate=false', '-f', '-'], widget('b', { spec: { size: 1, siez: 2 } }))
      assert.deepEqual((await shown('n1', 'b'))['spec'], { size: 1, color: 'blue' })
    })

    void test('apply, patch, label and delete change a custom object', async () => {
      const changed = widget('a', { spec: { size: 5, color: 'red' } })
      assert.equal(await ok('n1', ['apply', '-f', '-'], changed), 'widget.example.com/a configured\n')
      assert.equal(await ok('n2', ['apply', '-f', '-'], changed), 'widget.example.com/a unchanged\n')
      await ok('n3', ['patch', 'wd', 'a', '--type=merge', '-p', '{"spec":{"size":6}}'])
      await ok('n1', ['patch', 'wd', 'a', '--type=json', '-p', '[{"op":"remove","path":"/spec/color"}]'])
      await ok('n2', ['label', 'wd', 'a', 'x=y'])
      const object = await shown('n3', 'a')
      assert.deepEqual(object['spec'], { size: 6, color: 'blue' })
      assert.equal(objectMember(object, 'metadata')['generation'], 4)
      await ok('n1', ['delete', 'wd', 'b'])
      assert.equal(await ok('n2', ['get', 'wd', '-o', 'name']), 'widget.example.com/a\n')
    })

    void test('status is written separately from the rest of the object', async () => {
      const patch = (at: string, more: readonly string[]): Promise<string> => {
        const body = '{"spec":{"size":9},"status":{"phase":"Done"}}'
        return ok(at, ['patch', 'wd', 'a', '--type=merge', '-p', body, ...more])
      }
      await patch('n1', ['--subresource=status'])
      const reported = await shown('n2', 'a')
      assert.deepEqual(
        [reported['spec'], reported['status']],
        [{ size: 6, color: 'blue' }, { phase: 'Done' }],
      )
      await ok('n3', [
        'patch',
        'wd',
        'a',
        '--type=merge',
        '-p',
        '{"spec":{"size":7},"status":{"phase":"New"}}',
      ])
      const changed = await shown('n1', 'a')
      assert.deepEqual([changed['spec'], changed['status']], [{ size: 7, color: 'blue' }, { phase: 'Done' }])
    })

    void test('a killed member and one restored from a snapshot serve a custom kind as soon as they are ready', async () => {
      const leader = await cluster.leader()
      const away = cluster.members.find((member) => member !== leader) ?? assert.fail('a follower')
      await away.stop('SIGKILL')
      await ok(leader.name, ['create', '-f', '-'], customDefinition(names, { kind: 'Gadget' }))
      await ok(leader.name, [
        'wait',
        '--for=condition=Established',
        `${crds}/gadgets.example.com`,
        '--timeout=100s',
      ])
      const others = cluster.members.filter((member) => member !== away)
      for (let at = 0; at < 700; at += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, more) => touch(leader, at + more)))
        // A log is compacted only up to what is on disk. Waiting for the disk makes sure that there
        // is an index to compact to.
        if (at % 100 === 0) await Promise.all(others.map((member) => member.onDisk()))
      }
      away.start()
      await away.waitReady()
      for (const plural of ['widgets', 'gadgets']) {
        const reply = await away.client.get(
          `/apis/example.com/v1/namespaces/default/${plural}?resourceVersion=0`,
        )
        assert.equal(reply.status, 200, reply.text)
      }
      assert.match(away.currentLog(), /snapshot installed/, 'the log did not suffice')
      await away.stop('SIGKILL')
      away.start()
      await away.waitReady()
      const reply = await away.client.get('/apis/example.com/v1/namespaces/default/widgets/a')
      assert.equal(reply.status, 200, reply.text)
      assert.equal(objectMember(JSON.parse(reply.text) as JsonObject, 'spec')['size'], 7)
    })

    void test('a changed schema and version apply on every member from the next request on', async () => {
      const larger = { ...properties, weight: { type: 'string' } }
      const second = {
        ...version,
        ...{ name: 'v2', storage: false, schema: { openAPIV3Schema: customSchema(larger) } },
      }
      const first = { ...version, schema: { openAPIV3Schema: customSchema(larger) } }
      await ok('n1', ['apply', '-f', '-'], customDefinition(names, { ...words, versions: [first, second] }))
      await ok('n2', ['apply', strict, '-f', '-'], widget('c', { spec: { size: 1, weight: '5 kg' } }))
      assert.equal(objectMember(await shown('n3', 'c'), 'spec')['weight'], '5 kg')
      const inSecond = await shown('n1', 'c', 'widgets.v2.example.com')
      assert.equal(inSecond['apiVersion'], 'example.com/v2')
      const manifest = { ...widget('d'), apiVersion: 'example.com/v2' }
      await ok('n3', ['create', strict, '-f', '-'], manifest)
      assert.equal((await shown('n2', 'd', 'widgets.v1.example.com'))['apiVersion'], 'example.com/v1')
    })

    void test('deleting a namespace deletes its custom objects', async () => {
      await ok('n1', ['create', '-f', '-'], {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'gone' },
      })
      await ok('n2', ['create', '-f', '-'], widget('e', { metadata: { name: 'e', namespace: 'gone' } }))
      await ok('n3', ['delete', 'namespace', 'gone', '--timeout=100s'])
      assert.doesNotMatch(await ok('n1', ['get', 'wd', '-A', '-o', 'name']), /\/e$/m)
    })

    void test('deleting a definition deletes its objects and waits for their finalizers', async () => {
      await ok('n1', ['patch', 'wd', 'a', '--type=merge', '-p', '{"metadata":{"finalizers":["x.io/held"]}}'])
      await ok('n2', ['delete', crd, '--wait=false'])
      const late = await run('n3', ['create', '-f', '-'], widget('late'))
      assert.match(late.stderr, /create not allowed while custom resource definition is terminating/)
      await until('only the one that is held is left', async () => {
        return (await ok('n1', ['get', 'wd', '-o', 'name'])) === 'widget.example.com/a\n'
      })
      await until('the definition reports it', async () => {
        const object = JSON.parse(await ok('n2', ['get', crd, '-o', 'json'])) as JsonObject
        const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
        return conditions.some((one) => /x\.io\/held in 1$/.test(textMember(one, 'message')))
      })
      await ok('n3', ['patch', 'wd', 'a', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
      await until('the definition is gone', async () =>
        /NotFound/.test((await run('n1', ['get', crd])).stderr),
      )
      for (const member of cluster.members) {
        const reply = await member.client.get('/apis/example.com/v1/widgets')
        assert.equal(reply.status, 404, `${member.name}: ${reply.text}`)
      }
    })

    void test('once a definition is reported as established every member serves its kind', async () => {
      for (let round = 0; round < 20; round++) {
        const [from, ...others] = turned(cluster.members, round)
        if (from === undefined) return assert.fail('there are members')
        const kind = `Round${'abcdefghijklmnopqrst'[round] ?? ''}`
        const definition = customDefinition(names, { kind, group: 'rounds.org' })
        const path = `/apis/${names.group('apiextensions')}/v1/customresourcedefinitions`
        const made = await from.client.post(path, definition)
        assert.equal(made.status, 201, made.text)
        const name = textMember(objectMember(definition, 'metadata'), 'name')
        await until(`${kind} is established`, async () => {
          const { text } = await from.client.get(`${path}/${name}`)
          return /"type":"Established"/.test(text) && /InitialNamesAccepted/.test(text)
        })
        const plural = `${kind.toLowerCase()}s`
        const replies = await Promise.all(
          others.map(({ client }) => client.get(`/apis/rounds.org/v1/namespaces/default/${plural}`)),
        )
        for (const { status, text } of replies) assert.equal(status, 200, `${kind}: ${text}`)
      }
    })

    void test('kubectl creates a token review and access reviews of each kind with strict validation', async () => {
      const attributes = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } }
      const reviews: readonly JsonObject[] = [
        { ...review('authentication', 'TokenReview'), spec: { token: 'x' } },
        { ...review('authorization', 'SubjectAccessReview'), spec: { user: 'u', ...attributes } },
        {
          ...review('authorization', 'LocalSubjectAccessReview'),
          metadata: { namespace: 'default' },
          spec: { user: 'u', ...attributes },
        },
        { ...review('authorization', 'SelfSubjectAccessReview'), spec: attributes },
        { ...review('authorization', 'SelfSubjectRulesReview'), spec: { namespace: 'default' } },
      ]
      for (const one of reviews) {
        const text = await ok('n1', ['create', strict, '-o', 'json', '-f', '-'], one)
        assert.ok('status' in (JSON.parse(text) as JsonObject), text)
      }
    })

    if (domain === 'k8s.io') {
      void test('permissions decide which users may define kinds and use them', async () => {
        assert.equal(await ok('n2', ['auth', 'can-i', 'create', 'crd']), 'yes\n')
        assert.equal(await ok('n3', ['auth', 'can-i', 'delete', 'gadgets.example.com']), 'yes\n')
        const nobody = writeNobody(cluster)
        for (const of of ['crd', 'gadgets.example.com']) {
          const { code, stdout } = await kubectl.run(nobody, ['auth', 'can-i', 'create', of])
          assert.deepEqual([code, stdout], [1, 'no\n'])
        }
        const refused = await kubectl.run(nobody, ['get', 'gadgets'])
        assert.match(refused.stderr, /gadgets\.example\.com is forbidden: User "nobody" cannot list/)
      })

      void test('a client library reads and writes custom objects', async () => {
        const at = (member: string): CustomObjectsApi => {
          const config = new KubeConfig()
          config.loadFromFile(cluster.kubeconfig)
          config.setCurrentContext(member)
          return config.makeApiClient(CustomObjectsApi)
        }
        const place = { group: 'example.com', version: 'v1', namespace: 'default', plural: 'gadgets' }
        const body = {
          apiVersion: 'example.com/v1',
          kind: 'Gadget',
          metadata: { name: 'g' },
          spec: { size: 2 },
        }
        await at('n1').createNamespacedCustomObject({ ...place, body })
        const read = (await at('n2').getNamespacedCustomObject({ ...place, name: 'g' })) as typeof body
        assert.deepEqual(read.spec, { size: 2 })
        const replaced = { ...read, spec: { size: 4 } }
        await at('n3').replaceNamespacedCustomObject({ ...place, name: 'g', body: replaced })
        const list = (await at('n1').listNamespacedCustomObject(place)) as { items: readonly (typeof body)[] }
        assert.deepEqual(
          list.items.map(({ spec }) => spec.size),
          [4],
        )
        await at('n2').deleteNamespacedCustomObject({ ...place, name: 'g' })
        await assert.rejects(at('n3').getNamespacedCustomObject({ ...place, name: 'g' }), /404/)
      })
    }

    function review(group: string, kind: string): JsonObject {
      return { apiVersion: `${names.group(group)}/v1`, kind }
    }
  })
}

/** Creates a kubeconfig without permissions. @returns its path */
function writeNobody({ directory, credentials, members }: ProcessCluster): string {
  const file = join(directory, 'nobody.kubeconfig')
  const ca = Buffer.from(credentials.ca).toString('base64')
  const cluster = { server: members[0]?.url, 'certificate-authority-data': ca }
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'n' },
    clusters: [{ name: 'n', cluster }],
    users: [{ name: 'n', user: { token: 'test-nobody-token' } }],
    contexts: [{ name: 'n', context: { cluster: 'n', user: 'n' } }],
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}

async function touch(member: MemberProcess, at: number): Promise<void> {
  const { status, text } = await member.client.post('/api/v1/namespaces/default/configmaps', {
    metadata: { name: `touched-${at}` },
  })
  assert.equal(status, 201, text)
}

function turned<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
