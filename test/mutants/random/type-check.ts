import { join } from 'node:path'
import ts from 'typescript'
import { root, sourceOf } from '../copy.ts'

/**
 * Checks the types of one changed file. The compiler caches the types of all other files between
 * calls, so that a check takes about a second.
 */
export class TypeChecker {
  readonly #service: ts.LanguageService
  readonly #changed = new Map<string, { readonly version: number; readonly text: string }>()
  #version = 0

  /** @param files the sources, as paths from the root */
  constructor(files: readonly string[]) {
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
      config: unknown
    }
    const parsed = ts.parseJsonConfigFileContent({ ...(config as object), include: [] }, ts.sys, root)
    const options: ts.CompilerOptions = {
      ...parsed.options,
      noEmit: true,
      // A dropped call may leave a name unused, which is not a type error.
      noUnusedLocals: false,
      noUnusedParameters: false,
    }
    const paths = files.map((file) => join(root, file))
    const host: ts.LanguageServiceHost = {
      getCompilationSettings: () => options,
      getScriptFileNames: () => paths,
      getScriptVersion: (path) => String(this.#changed.get(path)?.version ?? 0),
      getScriptSnapshot: (path) => {
        const text = this.#changed.get(path)?.text ?? ts.sys.readFile(path)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      getCurrentDirectory: () => root,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      fileExists: (path) => ts.sys.fileExists(path),
      readFile: (path) => ts.sys.readFile(path),
      directoryExists: (path) => ts.sys.directoryExists(path),
      getDirectories: (path) => ts.sys.getDirectories(path),
    }
    this.#service = ts.createLanguageService(host)
  }

  /** Returns whether the file has no errors with `text` as its content. */
  accepts(file: string, text: string): boolean {
    const path = join(root, file)
    this.#changed.set(path, { version: ++this.#version, text })
    try {
      const errors = this.#service.getSyntacticDiagnostics(path)
      return errors.length === 0 && this.#service.getSemanticDiagnostics(path).length === 0
    } finally {
      this.#changed.set(path, { version: ++this.#version, text: sourceOf(file) })
    }
  }
}
