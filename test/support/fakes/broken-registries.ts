import type { VerbResponse, Registry, VerbRequest, WatchStream } from '../../../src/registry/calls/verb.ts'
import type { Store } from '../../../src/store/store.ts'

/*
 * The shipped verbs, each with one guarantee broken on purpose at short intervals, so that even
 * short traffic on a busy machine is affected. The checkers must detect that and name the
 * guarantee. Only ConfigMaps are affected, so that the server itself keeps working.
 */

/**
 * Every second get without a resourceVersion returns the result of an earlier get of the object, if
 * there was one.
 */
export function staleReads(registry: Registry): Registry {
  const shown = new Map<string, VerbResponse>()
  let gets = 0
  return {
    ...registry,
    get: async (request) => {
      const name = request.target.name ?? ''
      const isMostRecent = isConfigMap(request) && !request.query.has('resourceVersion')
      const old = shown.get(name)
      if (isMostRecent && ++gets % 2 === 0 && old !== undefined) return old
      const answer = await registry.get(request)
      if (isMostRecent) shown.set(name, answer)
      return answer
    },
  }
}

/** Watches without a selector miss every twentieth modification. */
export function droppedEvent(registry: Registry): Registry {
  let events = 0
  return leavingOut(registry, false, (line) => line.startsWith('{"type":"MODIFIED"') && ++events % 20 === 0)
}

/** Watches with a selector miss objects that leave the selection. */
export function forgottenDepartures(registry: Registry): Registry {
  return leavingOut(registry, true, (line) => line.startsWith('{"type":"DELETED"'))
}

function leavingOut(registry: Registry, selecting: boolean, isLeftOut: (line: string) => boolean): Registry {
  return {
    ...registry,
    watch: async (request) => {
      const answer = await registry.watch(request)
      const isMeant = isConfigMap(request) && request.query.has('labelSelector') === selecting
      if (answer.kind !== 'watch' || !isMeant) return answer
      return { kind: 'watch', stream: without(answer.stream, isLeftOut) }
    },
  }
}

function without(stream: WatchStream, isLeftOut: (line: string) => boolean): WatchStream {
  const left = (piece: Uint8Array | null): Uint8Array | null => {
    if (piece === null) return null
    const lines = Buffer.from(piece)
      .toString('utf8')
      .split(/(?<=\n)/)
    return Buffer.from(lines.filter((line) => !isLeftOut(line)).join(''))
  }
  return {
    next: () => {
      const piece = stream.next()
      return piece instanceof Promise ? piece.then(left) : left(piece)
    },
    onMore: (wake) => stream.onMore(wake),
    fail: (error) => stream.fail(error),
    close: () => stream.close(),
  }
}

/** Every tenth update gets a response as if it had been made, and is not made. */
export function lostWrite(registry: Registry, store: Store): Registry {
  let updates = 0
  return {
    ...registry,
    update: async (request) => {
      if (!isConfigMap(request) || ++updates % 10 !== 0) return registry.update(request)
      const query = new Map([...request.query, ['dryRun', ['All']] as const])
      const answer = await registry.update({ ...request, query })
      if (answer.kind !== 'document') return answer
      const document = JSON.parse(Buffer.from(answer.bytes).toString('utf8')) as { metadata: object }
      const resourceVersion = String(store.view().revision + 1)
      const lie = { ...document, metadata: { ...document.metadata, resourceVersion } }
      return { ...answer, bytes: Buffer.from(JSON.stringify(lie)) }
    },
  }
}

function isConfigMap({ definition }: VerbRequest): boolean {
  return definition.plural === 'configmaps'
}
