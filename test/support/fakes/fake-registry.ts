import type { ApiError } from '../../../src/api/errors/api-error.ts'
import { notFound } from '../../../src/api/errors/standard-errors.ts'
import type { VerbResponse, Registry, VerbRequest, WatchStream } from '../../../src/registry/calls/verb.ts'
import { Catalog } from '../../../src/registry/kinds/catalog.ts'
import type { ResourceDefinition } from '../../../src/registry/kinds/definition.ts'

/** Records the calls of the verbs and returns prepared answers. */
export class FakeRegistry {
  readonly calls: { readonly verb: string; readonly request: VerbRequest }[] = []
  /** Decides what is answered; by default the body, or a small object. */
  answer: (verb: string, request: VerbRequest) => VerbResponse | Promise<VerbResponse> = (verb, request) =>
    request.target.name === 'missing'
      ? fail(request)
      : { kind: 'document', code: verb === 'create' ? 201 : 200, bytes: bytesOf(verb, request) }
  readonly registry: Registry

  constructor(definitions: readonly ResourceDefinition[] = [namespaces, configMaps, widgets]) {
    const verb =
      (name: string) =>
      async (request: VerbRequest): Promise<VerbResponse> => {
        this.calls.push({ verb: name, request })
        return this.answer(name, request)
      }
    this.registry = {
      catalog: new Catalog(definitions),
      catalogSync: null,
      get: verb('get'),
      list: verb('list'),
      watch: verb('watch'),
      create: verb('create'),
      update: verb('update'),
      patch: verb('patch'),
      delete: verb('delete'),
      deleteCollection: verb('deletecollection'),
    }
  }
}

/** A watch fed by the test. */
export class FakeWatch implements WatchStream {
  closed = false
  pulled = 0
  readonly #pieces: Uint8Array[] = []
  #wake: (() => void) | null = null
  #ended = false

  push(text: string | Uint8Array): void {
    this.#pieces.push(typeof text === 'string' ? Buffer.from(text) : text)
    this.#go()
  }

  end(): void {
    this.#ended = true
    this.#go()
  }

  next(): Uint8Array | null {
    const piece = this.#pieces.shift()
    if (piece !== undefined) {
      this.pulled++
      return piece
    }
    return this.#ended ? null : new Uint8Array(0)
  }

  onMore(wake: () => void): void {
    this.#wake = wake
    if (this.#pieces.length > 0 || this.#ended) setImmediate(() => this.#go())
  }

  fail(error: ApiError): Uint8Array {
    this.close()
    return Buffer.from(`${error.code}: ${error.message}\n`)
  }

  close(): void {
    this.closed = true
  }

  #go(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }
}

function fail(request: VerbRequest): never {
  const { definition, target } = request
  throw notFound({ group: definition.group, resource: definition.plural }, target.name ?? '')
}

function bytesOf(verb: string, request: VerbRequest): Uint8Array {
  if (request.body.byteLength > 0) return request.body
  return Buffer.from(JSON.stringify({ kind: request.definition.kind, verb, target: request.target }))
}

const ALL_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const

const base = {
  shortNames: [],
  categories: [],
  verbs: ALL_VERBS,
  schema: { type: 'object', properties: {} },
  validateName: () => [],
  deleteReturnsObject: false,
  hooks: {},
} as const

const namespaces: ResourceDefinition = {
  ...base,
  ...{ group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', singular: 'namespace' },
  shortNames: ['ns'],
  scope: 'Cluster',
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  subresources: [
    { name: 'status', verbs: ['get', 'update', 'patch'], prepareForUpdate: (object) => object },
    { name: 'finalize', verbs: ['update'], prepareForUpdate: (object) => object },
  ],
}

const configMaps: ResourceDefinition = {
  ...base,
  ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', singular: 'configmap' },
  shortNames: ['cm'],
  scope: 'Namespaced',
  subresources: [],
}

const widgets: ResourceDefinition = {
  ...base,
  ...{ group: 'example.io', version: 'v1', kind: 'Widget', plural: 'widgets', singular: 'widget' },
  scope: 'Namespaced',
  verbs: ['get', 'list'],
  subresources: [],
}
