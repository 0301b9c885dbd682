import type { Clock } from '../../../base/clock.ts'
import { objectMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { Informer } from '../../registry/informer.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { prefixOf } from '../../store/key.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import { NodeGraph } from './node-graph.ts'
import type { NodeGraphDependencies } from './node-graph.ts'
import { volumeReferences } from '../../registry/kinds/node-references.ts'

export type NodeGraphOptions = {
  readonly names: Names
  readonly store: ObjectStore
  readonly clock: Clock
  /** All Pods; the owner starts the informer later. */
  readonly pods: NodeGraphDependencies['pods']
}

/**
 * Follows the Pods, PersistentVolumes and VolumeAttachments that this member has applied.
 *
 * @returns the graph, and `close`, which stops following
 */
export function followNodeGraph({ names, store, clock, pods }: NodeGraphOptions): {
  readonly graph: NodeGraph
  readonly close: () => void
} {
  const informer = <T>(group: string, plural: string, parse: (object: AnyObject) => T): Informer<T> => {
    const prefix = prefixOf({ group, plural, namespace: null })
    return new Informer({ store, clock, prefix, parse: (stored) => parse(parseStored(stored)) })
  }
  const volumes = informer('', 'persistentvolumes', (volume) => ({
    ...volumeReferences(volume),
    name: volume.metadata.name ?? '',
  }))
  const attachments = informer(names.group('storage'), 'volumeattachments', (attachment) => ({
    name: attachment.metadata.name ?? '',
    node: textMember(objectMember(attachment, 'spec'), 'nodeName'),
  }))
  const graph = new NodeGraph({ pods, volumes, attachments })
  const informers = [volumes, attachments]
  for (const one of informers) one.start()
  return {
    graph,
    close: () => {
      for (const one of informers) one.close()
    },
  }
}
