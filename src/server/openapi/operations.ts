import type { Names } from '../../api/metadata/names.ts'
import { formatGroupVersion } from '../../api/metadata/group-version.ts'
import type { PartVerb, ResourceDefinition, Verb } from '../../registry/kinds/definition.ts'
import { hasProtobuf } from '../../registry/representations/representation.ts'
import { connectionPaths } from './connections.ts'
import { capital } from './operation.ts'
import type { Ids, Operation, PathOfKind } from './operation.ts'
import * as parameters from './parameters.ts'

/**
 * Returns all paths of a kind: collection, instance, subresources, and the collection of all
 * namespaces.
 */
export function pathsOf(definition: ResourceDefinition, names: Names): readonly PathOfKind[] {
  const { group, plural, scope } = definition
  const root = group === '' ? '/api/' : '/apis/'
  const base = `${root}${formatGroupVersion(definition)}`
  const namespaced = scope === 'Namespaced'
  const collection = namespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`
  const place = namespaced ? [parameters.namespace] : []
  const id = idsOf(definition, names)
  const paths: PathOfKind[] = [
    {
      path: collection,
      parameters: [...place, parameters.pretty],
      definition,
      operations: collectionOperations(definition, id),
    },
    {
      path: `${collection}/{name}`,
      parameters: [parameters.nameOf(definition.kind), ...place, parameters.pretty],
      definition,
      operations: instanceOperations(definition, id),
    },
  ]
  if (namespaced && has(definition, 'list')) {
    const all = listOperation(definition, `${id('list', '')}ForAllNamespaces`)
    paths.push({ path: `${base}/${plural}`, parameters: [parameters.pretty], definition, operations: [all] })
  }
  for (const subresource of definition.subresources) {
    if ('connects' in subresource) {
      paths.push(...connectionPaths({ definition, subresource, collection, place, id }))
      continue
    }
    const { name, verbs, body } = subresource
    paths.push({
      path: `${collection}/{name}/${name}`,
      parameters: [parameters.nameOf(body?.kind ?? definition.kind), ...place, parameters.pretty],
      definition,
      ...(body === undefined ? {} : { body }),
      operations: verbs.map((verb) => {
        const words = `${name} of the specified ${definition.kind}`
        if (verb !== 'create') {
          return changeOperation(verb, `${id(WORDS[verb], scope)}${capital(name)}`, { of: words })
        }
        const answer = 'returnsBody' in subresource ? 'object' : 'status'
        return postOperation(`${id('create', scope)}${capital(name)}`, `create ${words}`, answer)
      }),
    })
  }
  return paths.filter((path) => path.operations.length > 0)
}

/** Returns the media types of a response; the one for protobuf depends on the API domain. */
export function answerTypes(
  { answer }: Operation,
  definition: ResourceDefinition,
  names: Names,
): readonly string[] {
  if (answer === 'any') return ['*/*']
  const text = ['application/json', 'application/yaml']
  const objects = hasProtobuf(definition) ? [...text, names.protobufMediaType] : text
  return answer === 'text' ? ['text/plain', ...objects] : objects
}

const WORDS = { get: 'read', update: 'replace', patch: 'patch' } as const

/**
 * Returns ids such as `createCoreV1NamespacedConfigMap`, from which client generators make method
 * names.
 */
function idsOf(definition: ResourceDefinition, names: Names): Ids {
  const group = definition.group === '' ? 'core' : names.groupStem(definition.group)
  const words = group.split(/[.-]/).map(capital).join('')
  const version = capital(definition.version)
  return (verb, scope, method = '') =>
    `${verb}${words}${version}${capital(method)}${scope === 'Namespaced' ? 'Namespaced' : ''}${definition.kind}`
}

function collectionOperations(definition: ResourceDefinition, id: Ids): Operation[] {
  const { kind, scope } = definition
  const operations: Operation[] = []
  if (has(definition, 'list')) operations.push(listOperation(definition, id('list', scope)))
  if (has(definition, 'create')) {
    const answer = definition.aliasOfSubresource === undefined ? 'object' : 'status'
    operations.push(postOperation(id('create', scope), `create a ${kind}`, answer))
  }
  if (has(definition, 'deletecollection')) {
    const many = id('delete', scope).replace(/^delete(.*?V\d+[a-z0-9]*)/, 'delete$1Collection')
    operations.push({
      method: 'delete',
      id: many,
      description: `delete a collection of ${kind}`,
      action: 'deletecollection',
      parameters: [...parameters.list, ...parameters.remove],
      body: 'delete-options',
      answer: 'status',
      codes: [200],
    })
  }
  return operations
}

function postOperation(id: string, description: string, answer: Operation['answer']): Operation {
  return {
    ...{ method: 'post', id, description, action: 'post', answer },
    ...{ parameters: parameters.write, body: 'object', codes: [200, 201, 202] },
  }
}

function listOperation(definition: ResourceDefinition, id: string): Operation {
  return {
    method: 'get',
    id,
    description: `list or watch objects of kind ${definition.kind}`,
    action: 'list',
    parameters: parameters.listOrWatch,
    body: null,
    answer: 'list',
    codes: [200],
  }
}

function instanceOperations(definition: ResourceDefinition, id: Ids): Operation[] {
  const { kind, scope } = definition
  const operations: Operation[] = []
  for (const verb of ['get', 'update', 'patch'] as const) {
    if (!has(definition, verb)) continue
    operations.push(changeOperation(verb, id(WORDS[verb], scope), { of: `the specified ${kind}` }))
  }
  if (has(definition, 'delete')) {
    operations.push({
      method: 'delete',
      id: id('delete', scope),
      description: `delete a ${kind}`,
      action: 'delete',
      parameters: parameters.remove,
      body: 'delete-options',
      answer: definition.deleteReturnsObject ? 'object' : 'status',
      codes: [200, 202],
    })
  }
  return operations
}

function changeOperation(verb: PartVerb, id: string, words: { readonly of: string }): Operation {
  const answer = 'object'
  switch (verb) {
    case 'get':
      return {
        ...{ method: 'get', id, description: `read ${words.of}`, action: 'get' },
        ...{ parameters: parameters.read, body: null, answer, codes: [200] },
      }
    case 'update':
      return {
        ...{ method: 'put', id, description: `replace ${words.of}`, action: 'put' },
        ...{ parameters: parameters.write, body: 'object', answer, codes: [200, 201] },
      }
    case 'patch':
      return {
        ...{ method: 'patch', id, description: `partially update ${words.of}`, action: 'patch' },
        ...{ parameters: parameters.patch, body: 'patch', answer, codes: [200, 201] },
      }
  }
}

function has(definition: ResourceDefinition, verb: Verb): boolean {
  return definition.verbs.includes(verb)
}
