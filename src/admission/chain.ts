import type { Operation } from '../store/command.ts'
import type { AskedAbout } from '../registry/calls/admission-context.ts'
import type { Admission, AdmissionRequest } from '../registry/calls/admission.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/** One admission plugin. Each of its parts may be missing. */
export type AdmissionPlugin = LocalPlugin | RemotePlugin

/** Decides by the request and by what it reads through it: pure and synchronous, so it may be called again. */
export type LocalPlugin = {
  readonly name: string
  readonly callsOut?: false
  /** Returns the object as it shall be. @throws ApiError to refuse */
  readonly mutate?: (request: AdmissionRequest) => AnyObject | null
  /** @throws ApiError to refuse */
  readonly validate?: (request: AdmissionRequest) => void
  /** See `Admission.extraOperations`. */
  readonly extraOperations?: (request: AdmissionRequest) => readonly Operation[]
}

/**
 * Asks something outside of this process. Its answers are remembered for the request: it is called again only when the objects
 * differ from those it was called with.
 */
export type RemotePlugin = {
  readonly name: string
  readonly callsOut: true
  /** Whether it has anything to say of a request; where not, it is not asked. Unset: of each. */
  readonly concerns?: (request: AdmissionRequest) => boolean
  /** As of `LocalPlugin`. */
  readonly mutate?: (request: AdmissionRequest) => Promise<AnyObject | null>
  readonly validate?: (request: AdmissionRequest) => Promise<void>
}

/**
 * All plugins in order: each sees the object as those before it made it, and the first refusal counts. Asynchronous only where
 * a plugin calls out.
 */
export function admissionChain(plugins: readonly AdmissionPlugin[]): Admission {
  const mutators = plugins.flatMap(mutatorOf)
  const validators = plugins.flatMap(validatorOf)
  const extras = plugins.flatMap((plugin) =>
    plugin.callsOut === true || plugin.extraOperations === undefined ? [] : [plugin.extraOperations],
  )
  return {
    mutate: (request) => mutated(mutators, request, 0),
    validate: (request) => validated(validators, request, 0),
    extraOperations: (request) => (extras.length === 0 ? NONE : extras.flatMap((extra) => extra(request))),
  }
}

const NONE: readonly Operation[] = []

function objectsOf({ object, oldObject }: AdmissionRequest): AskedAbout {
  return { object, oldObject }
}

type Mutator = (request: AdmissionRequest) => AnyObject | null | Promise<AnyObject | null>
type Validator = (request: AdmissionRequest) => void | Promise<unknown>

function mutatorOf(plugin: AdmissionPlugin): readonly Mutator[] {
  if (plugin.callsOut !== true) return plugin.mutate === undefined ? [] : [plugin.mutate]
  const { name, mutate, concerns = always } = plugin
  if (mutate === undefined) return []
  return [
    (request) => {
      if (!concerns(request)) return request.object
      const { context, operation } = request
      return context.askOnce(`mutate ${name} ${operation}`, objectsOf(request), () => mutate(request))
    },
  ]
}

function validatorOf(plugin: AdmissionPlugin): readonly Validator[] {
  if (plugin.callsOut !== true) return plugin.validate === undefined ? [] : [plugin.validate]
  const { name, validate, concerns = always } = plugin
  if (validate === undefined) return []
  const ask = async (request: AdmissionRequest): Promise<null> => {
    await validate(request)
    return null
  }
  return [
    (request) => {
      if (!concerns(request)) return undefined
      const { context, operation } = request
      return context.askOnce(`validate ${name} ${operation}`, objectsOf(request), () => ask(request))
    },
  ]
}

function always(): boolean {
  return true
}

function mutated(mutators: readonly Mutator[], request: AdmissionRequest, from: number): ReturnType<Mutator> {
  let { object } = request
  for (let at = from; at < mutators.length; at++) {
    const answer = mutators[at]?.(object === request.object ? request : { ...request, object }) ?? null
    if (answer instanceof Promise) {
      return answer.then((changed) => mutated(mutators, { ...request, object: changed }, at + 1))
    }
    object = answer
  }
  return object
}

function validated(
  validators: readonly Validator[],
  request: AdmissionRequest,
  from: number,
): void | Promise<void> {
  for (let at = from; at < validators.length; at++) {
    const answer = validators[at]?.(request)
    if (answer instanceof Promise) return answer.then(() => validated(validators, request, at + 1))
  }
}
