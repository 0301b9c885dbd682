import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import pino from 'pino'
import { objectMember, objectsMember, textMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { apiServiceRegistration } from '../../../../src/controllers/api-service-registration.ts'
import { CustomKindSync } from '../../../../src/controllers/custom-kind-sync.ts'
import { takenNames } from '../../../../src/controllers/custom-definition-claims.ts'
import { customDefinitionDeletion } from '../../../../src/controllers/custom-definition-deletion.ts'
import { customDefinitionNames } from '../../../../src/controllers/custom-definition-names.ts'
import { definitionsPrefix, knownDefinition } from '../../../../src/controllers/custom-definition-summary.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { customKinds } from '../../../../src/resources/crd/custom-kind.ts'
import { customResourceDefinitionDefinition } from '../../../../src/resources/custom-resource-definition.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { customDefinition } from '../../../support/fixtures/custom-definition.ts'
import type { DefinitionWords } from '../../../support/fixtures/custom-definition.ts'
import { Fixture } from '../registry/fixture.ts'
import type { Obj } from '../registry/fixture.ts'
import { recorderOf } from './recorded-events.ts'

export const names = namesOf('orch.io')
export const kind = 'CustomResourceDefinition'
/** The default name of a definition. */
export const name = 'widgets.example.com'

/** The number of definitions that may be served at once. */
export const establishedMax = 3

/** A member that serves and may lead. */
export class Member {
  readonly api: Fixture
  readonly errors: unknown[] = []
  readonly #definitions: Informer<ReturnType<typeof knownDefinition>>
  readonly #custom: CustomKindSync
  #leading: (() => void) | null = null

  private constructor(api: Fixture) {
    this.api = api
    const { clock, catalog, store } = api
    const prefix = definitionsPrefix(names)
    this.#definitions = new Informer({ store, clock, prefix, parse: knownDefinition })
    const log = pino({ level: 'silent' })
    this.#custom = new CustomKindSync({
      ...{ clock, log, names, catalog, definitions: this.#definitions },
      kindsOf: customKinds,
    })
  }

  /** @param own further built-in kinds */
  static async open(
    wrap?: (store: ObjectStore) => ObjectStore,
    own: readonly ResourceDefinition[] = [],
  ): Promise<Member> {
    const taken = { in: (): Promise<void> => Promise.resolve() }
    const definitionsTakenIn = (): Promise<void> => taken.in()
    const definition = customResourceDefinitionDefinition(names)
    const isThere = definitionsFor(names).some(({ plural }) => plural === definition.plural)
    const api = await Fixture.open({
      ...{ definitionsTakenIn, extra: isThere ? own : [definition, ...own] },
      ...(wrap === undefined ? {} : { wrap }),
    })
    const member = new Member(api)
    taken.in = () => member.#custom.untilCurrent()
    member.#custom.start()
    return member
  }

  lead(): void {
    this.#leading = this.leader()
  }

  /**
   * Starts the controllers as on a leader; another member over the same store may act as leader,
   * too.
   *
   * @returns a function that stops them
   */
  leader(): () => void {
    const { clock, catalog, registry, store } = this.api
    const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
    const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
    const parts = { clock, names, catalog, client, definitions: this.#definitions }
    const onError = (key: string, cause: unknown) => void this.errors.push([key, cause])
    const taken = (group: string) => takenNames(catalog.builtIn(), group)
    const accepting = customDefinitionNames({ ...parts, store, taken, establishedMax, onError })
    const deletion = customDefinitionDeletion({ ...parts, events: recorderOf(this.api), onError })
    const prefix = prefixOf({ group: names.group('apiregistration'), plural: 'apiservices', namespace: null })
    const apiServices = new Informer({ store, clock, prefix, parse: parseStored })
    const registration = apiServiceRegistration({ ...parts, apiServices, onError })
    apiServices.start()
    const controllers = [accepting, deletion, registration]
    for (const controller of controllers) controller.start()
    return () => {
      for (const controller of controllers) controller.stop()
      apiServices.close()
    }
  }

  follow(): void {
    this.#leading?.()
    this.#leading = null
  }

  async close(): Promise<void> {
    this.follow()
    this.#custom.close()
    await this.api.close()
  }

  untilCurrent(): Promise<void> {
    return this.#custom.untilCurrent()
  }

  async define(words: DefinitionWords = {}): Promise<Obj> {
    return (await this.api.create({ kind, body: customDefinition(names, words) })).object
  }

  async widget(at: string, more: JsonObject = {}): Promise<void> {
    const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: at }, spec: {}, ...more }
    await this.api.create({ kind: 'Widget', body })
  }

  async condition(type: string, of = name): Promise<string> {
    const { object } = await this.api.get({ kind, name: of })
    const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
    const found = conditions.find((one) => textMember(one, 'type') === type)
    return found === undefined ? 'none' : `${textMember(found, 'status')} ${textMember(found, 'reason')}`
  }

  /** The number of objects of the kind in the store. */
  get left(): number {
    return this.api.store.view().count(prefixOf({ group: 'example.com', plural: 'widgets', namespace: null }))
  }

  /** Waits until the definition has a condition with this status. */
  async until(type: string, wanted: string, of = name): Promise<void> {
    for (let turns = 0; turns < 500; turns++) {
      if ((await this.condition(type, of)) === wanted) return
      await this.next()
    }
    assert.equal(await this.condition(type, of), wanted, this.errors.join('\n'))
  }

  /** Waits until there is no such definition. */
  async untilGone(): Promise<void> {
    for (let turns = 0; turns < 500; turns++) {
      const { items } = await this.api.list({ kind })
      if (items.every(({ metadata }) => metadata.name !== name)) return this.untilCurrent()
      await this.next()
    }
    assert.fail(`still there: ${await this.condition('Terminating')}`)
  }

  async next(): Promise<void> {
    await turn()
    this.api.clock.advance(50)
  }
}

/** Returns a member that leads, with the definition of widgets. */
export async function defined(words: DefinitionWords = {}): Promise<Member> {
  const member = await Member.open()
  member.lead()
  await member.define(words)
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  return member
}

/** Delays writes. */
export class Gate {
  #isHeld: (key: string) => boolean = () => false
  #many: 'all' | 'once' = 'all'
  #reached: () => void = () => undefined
  #release: () => void = () => undefined
  #opened: Promise<void> = Promise.resolve()
  held: Promise<void> = Promise.resolve()

  /** @param many once: only the first one is delayed */
  close(isHeld: (key: string) => boolean, many: 'all' | 'once' = 'all'): void {
    this.#isHeld = isHeld
    this.#many = many
    this.held = new Promise((resolve) => (this.#reached = resolve))
    this.#opened = new Promise((resolve) => (this.#release = resolve))
  }

  open(): void {
    this.#isHeld = () => false
    this.#release()
  }

  before(store: ObjectStore): ObjectStore {
    const write: ObjectStore['write'] = async (command, deadlineMs) => {
      if (command.kind === 'write' && command.operations.some(({ key }) => this.#isHeld(key))) {
        if (this.#many === 'once') this.#isHeld = () => false
        this.#reached()
        await this.#opened
      }
      return store.write(command, deadlineMs)
    }
    return instead(store, { write })
  }
}

/** Returns the store with those parts replaced. */
export function instead(store: ObjectStore, parts: Partial<ObjectStore>): ObjectStore {
  return new Proxy(store, {
    get: (target, property) => {
      const value: unknown = Reflect.get(parts, property) ?? Reflect.get(target, property, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
