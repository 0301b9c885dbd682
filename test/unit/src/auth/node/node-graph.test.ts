/*
 * Goal: after any changes the graph knows exactly what follows from the present objects.
 * Method: random changes of Pods, volumes and attachments, against an evaluation of all present
 * objects.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeGraph } from '../../../../../src/auth/node/node-graph.ts'
import type { Attachment, NamedVolume } from '../../../../../src/auth/node/node-graph.ts'
import type { PodReferences } from '../../../../../src/registry/kinds/node-references.ts'
import type { InformerChange } from '../../../../../src/registry/informer.ts'
import { keyOf } from '../../../../../src/store/key.ts'
import { fc } from '../../../../support/generators/fast-check.ts'

/** A collection that reports its changes. */
class Collection<T> {
  readonly present = new Map<string, T>()
  #listener: (change: InformerChange<T>) => void = () => undefined

  subscribe(listener: (change: InformerChange<T>) => void): () => void {
    this.#listener = listener
    return () => undefined
  }

  set(name: string, value: T): void {
    const previous = this.present.get(name) ?? null
    this.present.set(name, value)
    this.#listener({ kind: 'set', key: keyNamed(name), value, previous })
  }

  remove(name: string): void {
    const previous = this.present.get(name)
    if (previous === undefined) return
    this.present.delete(name)
    this.#listener({ kind: 'removed', key: keyNamed(name), previous })
  }
}

const keyNamed = (name: string) => keyOf({ group: '', plural: 'x', namespace: '', name })

class World {
  readonly pods = new Collection<PodReferences>()
  readonly volumes = new Collection<NamedVolume>()
  readonly attachments = new Collection<Attachment>()
  readonly graph = new NodeGraph(this)

  /** Everything that a node may read, computed from the present objects. */
  naive(node: string): ReadonlySet<string> {
    const may = new Set<string>()
    for (const pod of this.pods.present.values()) {
      if (pod.node === node) for (const reference of pod.references) may.add(reference)
    }
    for (const volume of this.volumes.present.values()) {
      if (volume.claim === null || !may.has(volume.claim)) continue
      may.add(`volume ${volume.name}`)
      for (const secret of volume.secrets) may.add(secret)
    }
    for (const [name, attachment] of this.attachments.present) {
      if (attachment.node === node) may.add(`attachment ${name}`)
    }
    return may
  }

  known(node: string): ReadonlySet<string> {
    const { graph } = this
    return new Set([
      ...references.filter((reference) => graph.needs(node, reference)),
      ...names.filter((name) => graph.needsVolume(node, name)).map((name) => `volume ${name}`),
      ...names.filter((name) => graph.isAttachedTo(node, name)).map((name) => `attachment ${name}`),
    ])
  }
}

const nodes = ['n1', 'n2']
const names = ['a', 'b', 'c']
const secrets = ['secrets/x/s1', 'secrets/x/s2', 'secrets/y/s1']
const claims = ['persistentvolumeclaims/x/c1', 'persistentvolumeclaims/x/c2']
const references = [...secrets, ...claims, 'configmaps/x/m']

type Change = (world: World) => void

const change: fc.Arbitrary<Change> = fc.oneof(
  fc
    .record({
      name: fc.constantFrom(...names),
      node: fc.constantFrom('', ...nodes),
      references: fc.subarray(references),
    })
    .map(
      ({ name, node, references: of }): Change =>
        (world) =>
          world.pods.set(name, { node, references: node === '' ? [] : of }),
    ),
  fc
    .record({
      name: fc.constantFrom(...names),
      claim: fc.constantFrom(null, ...claims),
      secrets: fc.subarray(secrets),
    })
    .map(
      (volume): Change =>
        (world) =>
          world.volumes.set(volume.name, volume),
    ),
  fc.record({ name: fc.constantFrom(...names), node: fc.constantFrom(...nodes) }).map(
    (attachment): Change =>
      (world) =>
        world.attachments.set(attachment.name, attachment),
  ),
  fc.constantFrom(...names).map(
    (name): Change =>
      (world) =>
        world.pods.remove(name),
  ),
  fc.constantFrom(...names).map(
    (name): Change =>
      (world) =>
        world.volumes.remove(name),
  ),
  fc.constantFrom(...names).map(
    (name): Change =>
      (world) =>
        world.attachments.remove(name),
  ),
)

void test('after any changes a node needs exactly the references of its Pods, their volumes and its attachments', () => {
  let allowed = 0
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const world = new World()
      for (const apply of changes) {
        const before = nodes.map((node) => world.naive(node))
        const { version } = world.graph
        apply(world)
        for (const [at, node] of nodes.entries()) {
          const after = world.naive(node)
          allowed += after.size
          assert.deepEqual([...world.known(node)].sort(), [...after].sort())
          const isLost = [...(before[at] ?? [])].some((one) => !after.has(one))
          if (isLost) assert.notEqual(world.graph.version, version, 'a lost permission changes the version')
        }
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(allowed > 1000, `${allowed} permissions compared`)
})
