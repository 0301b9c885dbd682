/*
 * Goal: the commands of kubectl that change existing objects work unchanged: edit, replace, label,
 * diff, wait and the like.
 * Method: a real kubectl against a real process (`long/variants`: in each domain).
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()
const minor = Number(/^v1\.(\d+)/.exec(kubectl.version)?.[1] ?? 0)

const cm = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: ${value}}\n`

const data = '-o=jsonpath={.data.value}'

for (const domain of someDomains) {
  void describe(`kubectl edits existing objects in the ${domain} domain`, () => {
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({ members: 1, domain })
    })
    after(() => cluster.remove())

    const run = (args: readonly string[], input?: string): Promise<KubectlResult> =>
      kubectl.run(cluster.kubeconfig, args, input)
    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('the documents of one file are created, labelled, annotated and deleted together', async () => {
      await ok(['create', 'namespace', 'many'])
      const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n'
      const list = `apiVersion: v1\nkind: List\nitems:\n- ${cm('c', 'three').trim().replaceAll('\n', '\n  ')}\n`
      const file = [cm('a', 'one'), '# nothing\n', cm('b', 'two'), secret, list].join('---\n')
      const made = await ok(['create', '-n', 'many', '-f', '-'], file)
      assert.deepEqual(
        made.trimEnd().split('\n'),
        ['configmap/a', 'configmap/b', 'secret/s', 'configmap/c'].map((name) => `${name} created`),
      )
      await ok(['label', '-n', 'many', 'configmaps', '--all', 'part=all'])
      await ok(['label', '-n', 'many', 'configmap', 'a', 'part=one', '--overwrite'])
      await ok(['annotate', '-n', 'many', 'configmap', 'b', 'note=hello'])
      const names = ['-o=jsonpath={.items[*].metadata.name}']
      // Each namespace has a ConfigMap with the CA certificates, which --all includes.
      const all = await ok(['get', '-n', 'many', 'cm', '-l', 'part=all', ...names])
      assert.match(all, /^b c (kube-)?root-ca\.crt$/)
      assert.equal(
        await ok(['get', '-n', 'many', 'cm', '--field-selector', 'metadata.name=b', ...names]),
        'b',
      )
      const kept = await run(['label', '-n', 'many', 'configmap', 'a', 'part=two'])
      assert.match(kept.stderr, /already has a value \(one\)/)
      await ok(['delete', '-n', 'many', 'configmaps', '--all'])
      assert.equal(await ok(['get', '-n', 'many', 'cm', '-l', 'part', ...names]), '')
      await ok(['delete', 'namespace', 'many'])
    })

    void test('edit writes the edited object; replace respects the given resourceVersion', async () => {
      await ok(['create', '-f', '-'], cm('edited', 'one'))
      process.env['KUBE_EDITOR'] = 'sed -i s/one/two/'
      await ok(['edit', 'configmap', 'edited']).finally(() => delete process.env['KUBE_EDITOR'])
      assert.equal(await ok(['get', 'cm', 'edited', data]), 'two')
      const read = await ok(['get', 'cm', 'edited', '-o', 'json'])
      await ok(['replace', '-f', '-'], read.replace('"two"', '"three"'))
      const late = await run(['replace', '-f', '-'], read.replace('"two"', '"four"'))
      assert.match(late.stderr, /\(Conflict\).*the object has been modified/)
      await ok(['replace', '--force', '-f', '-'], cm('edited', 'five'))
      assert.equal(await ok(['get', 'cm', 'edited', data]), 'five')
    })

    void test('delete --cascade deletes dependents after or before their owner, or orphans them', async () => {
      const names = ['-o=jsonpath={.items[*].metadata.name}']
      const left = (): Promise<string> => ok(['get', '-n', 'family', 'cm', '-l', 'part', ...names])
      await ok(['create', 'namespace', 'family'])
      const labelled = (name: string, more: string): string =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: family, labels: {part: a}${more}}\n`
      for (const cascade of ['background', 'foreground', 'orphan']) {
        await ok(['create', '-f', '-'], labelled('owner', ''))
        const uid = await ok(['get', '-n', 'family', 'cm', 'owner', '-o=jsonpath={.metadata.uid}'])
        const owner = `{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${uid}, blockOwnerDeletion: true}`
        const children = ['a', 'b'].map((name) => labelled(name, `, ownerReferences: [${owner}]`))
        await ok(['create', '-f', '-'], children.join('---\n'))
        // kubectl waits until the owner is gone.
        await ok(['delete', '-n', 'family', 'cm', 'owner', `--cascade=${cascade}`])
        if (cascade === 'background')
          await until('the dependents are deleted', async () => (await left()) === '')
        else assert.equal(await left(), cascade === 'orphan' ? 'a b' : '', cascade)
      }
      const owners = ['-o=jsonpath={.items[*].metadata.ownerReferences}']
      assert.equal(await ok(['get', '-n', 'family', 'cm', '-l', 'part', ...owners]), '')
      await ok(['delete', 'namespace', 'family'])
    })

    void test('patch of each type changes what it names, and a JSON patch tests values', async () => {
      await ok(['create', 'deployment', 'patched', '--image=registry.test/r:1'])
      const patch = (type: string, change: unknown) =>
        run(['patch', 'deploy', 'patched', `--type=${type}`, '-p', JSON.stringify(change)])
      const containers = [{ name: 'r', env: [{ name: 'A', value: 'b' }] }]
      const strategic = await patch('strategic', { spec: { template: { spec: { containers } } } })
      assert.equal(strategic.stdout, 'deployment.apps/patched patched\n')
      await patch('merge', { spec: { replicas: 7 }, metadata: { labels: { app: null, own: 'x' } } })
      const test = { op: 'test', path: '/spec/replicas', value: 7 }
      await patch('json', [test, { op: 'add', path: '/metadata/annotations', value: { a: 'b' } }])
      const failed = await patch('json', [
        { ...test, value: 8 },
        { op: 'remove', path: '/metadata/labels' },
      ])
      assert.equal(failed.code, 1)
      assert.match(failed.stderr, /testing path \/spec\/replicas value failed: test failed/)
      const same = await patch('merge', { spec: { replicas: 7 } })
      assert.equal(same.stdout, 'deployment.apps/patched patched (no change)\n')
      const shown = 'jsonpath={.spec.replicas} {.metadata.labels} {.metadata.annotations} '
      const env = '{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env}'
      assert.equal(
        await ok(['get', 'deploy', 'patched', '-o', shown + env]),
        '7 {"own":"x"} {"a":"b"} registry.test/r:1 [{"name":"A","value":"b"}]',
      )
    })

    void test('diff shows the effect of a write and writes nothing', async () => {
      await ok(['apply', '-f', '-'], cm('compared', 'one'))
      assert.equal(await ok(['diff', '-f', '-'], cm('compared', 'one')), '')
      const { code, stdout } = await run(['diff', '-f', '-'], cm('compared', 'two'))
      assert.equal(code, 1)
      assert.match(stdout, /^- {2}value: one\n\+ {2}value: two$/m)
      const added = await run(['diff', '-f', '-'], cm('absent', 'one'))
      assert.equal(added.code, 1)
      assert.match(added.stdout, /^\+ {2}value: one$/m)
      assert.equal(await ok(['get', 'cm', 'compared', data]), 'one')
      assert.match((await run(['get', 'cm', 'absent'])).stderr, /NotFound/)
    })

    void test('wait detects a value and the deletion of an object', async () => {
      await ok(['create', '-f', '-'], cm('awaited', 'one'))
      /** Makes the condition of `kubectl wait` true while it waits. @returns its output */
      const wait = async (condition: string, happen: readonly string[]): Promise<string> => {
        const words = ['wait', `--for=${condition}`, 'cm/awaited', '--timeout=100s', '-v=6']
        const { child, reported } = kubectl.follow(cluster.kubeconfig, words)
        const ended = once(child, 'close')
        try {
          await until('it watches', () => /[?&]watch=true/.test(reported()), reported)
          await ok(happen)
          assert.deepEqual(await ended, [0, null], reported())
          return reported()
        } finally {
          child.kill('SIGKILL')
        }
      }
      if (minor >= 23) {
        const patch = ['patch', 'cm', 'awaited', '--type=merge', '-p', '{"data":{"value":"two"}}']
        assert.match(await wait('jsonpath={.data.value}=two', patch), /condition met/)
      }
      await wait('delete', ['delete', 'cm', 'awaited'])
    })

    void test('server-side apply creates an object, shares equal fields, and changes those of others only by force', async () => {
      const apply = (value: string, ...flags: readonly string[]): Promise<KubectlResult> =>
        run(['apply', '--server-side', ...flags, '-f', '-'], cm('applied', value))
      assert.match((await apply('one')).stdout, /configmap\/applied serverside-applied/)
      assert.equal((await apply('one', '--field-manager=other')).code, 0)
      const { code, stderr } = await apply('two', '--field-manager=other')
      assert.equal(code, 1)
      assert.match(stderr, /Apply failed with 1 conflict: conflict with "kubectl": \.data\.value/)
      assert.equal(await ok(['get', 'cm', 'applied', data]), 'one')
      assert.equal((await apply('two', '--field-manager=other', '--force-conflicts')).code, 0)
      assert.equal(await ok(['get', 'cm', 'applied', data]), 'two')
      const owners = ['-o=jsonpath={.metadata.managedFields[*].manager}', '--show-managed-fields']
      assert.equal(await ok(['get', 'cm', 'applied', ...owners]), 'other')
    })

    void test('server-side apply works after client-side apply and before it, and diff shows its effect', async () => {
      await ok(['apply', '-f', '-'], cm('moved', 'one'))
      const next = cm('moved', 'two')
      const diff = await run(['diff', '--server-side', '-f', '-'], next)
      assert.equal(diff.code, 1, diff.stderr)
      assert.match(diff.stdout, /^- {2}value: one\n\+ {2}value: two$/m)
      assert.match(await ok(['apply', '--server-side', '-f', '-'], next), /moved serverside-applied/)
      assert.equal(await ok(['get', 'cm', 'moved', data]), 'two')
      const last = ['apply', 'view-last-applied', 'cm', 'moved', '-o', 'json']
      assert.match(await ok(last), /"value": "two"/)
      await ok(['apply', '-f', '-'], cm('moved', 'three'))
      assert.equal(await ok(['get', 'cm', 'moved', data]), 'three')
    })
  })
}
