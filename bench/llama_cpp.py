"""llama.cpp's libraries through ctypes, as far as measuring and comparing need them.

The libraries are the prebuilt ones of npm's @node-llama-cpp/linux-x64* packages: a folder
with libllama*.so, libggml*.so and one file per back end. What a structure looks like depends
on the version; two are known here and told apart by a symbol, and what the library says its
defaults are must make sense before anything is run.

    with Model(find_libraries(), "model.gguf", context=600) as m:
        rows = m.decode([1, 2, 3])          # a list of floats after each token
"""
import ctypes
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("linux-x64-vulkan", "linux-x64-cuda", "linux-x64")
CUDA_LIBRARIES = ("libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13")  # of the package 3.14.5
F32, F16 = 0, 1
FLASH = {"auto": -1, "off": 0, "on": 1}

Pointer, Int, Uint, Float, Bool = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_float, ctypes.c_bool


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [(f, kind) for names, kind in fields for f in names.split()]})


Batch = structure("Batch", ("n_tokens", Int), ("token embd pos n_seq_id seq_id logits", Pointer))

# v0.5.0 (package 3.22.1)
NewModelParams = structure(
    "NewModelParams", ("devices buffer_overrides", Pointer), ("n_gpu_layers split_mode load_mode lazy_mode main_gpu", Int),
    ("tensor_split progress progress_data kv_overrides", Pointer),
    ("vocab_only check_tensors use_extra_bufts no_host no_alloc load_mtp", Bool))
NewContextParams = structure(
    "NewContextParams", ("n_ctx n_batch n_ubatch n_seq_max n_rs_seq n_outputs_max n_outputs_max_per_seq", Uint),
    ("n_threads n_threads_batch context_type rope_scaling_type pooling_type attention_type flash_attn_type", Int),
    ("rope_base rope_scale yarn_ext yarn_attn yarn_fast yarn_slow", Float), ("yarn_ctx", Uint), ("defrag", Float),
    ("eval_callback eval_data", Pointer), ("type_k type_v", Int), ("abort_callback abort_data", Pointer),
    ("embeddings offload_kqv no_perf op_offload swa_full kv_unified", Bool),
    ("samplers", Pointer), ("n_samplers", ctypes.c_size_t), ("other", Pointer))

# b7347 (package 3.14.5)
OldModelParams = structure(
    "OldModelParams", ("devices buffer_overrides", Pointer), ("n_gpu_layers split_mode main_gpu", Int),
    ("tensor_split progress progress_data kv_overrides", Pointer),
    ("vocab_only use_mmap use_mlock check_tensors use_extra_bufts no_host", Bool))
OldContextParams = structure(
    "OldContextParams", ("n_ctx n_batch n_ubatch n_seq_max", Uint),
    ("n_threads n_threads_batch rope_scaling_type pooling_type attention_type flash_attn_type", Int),
    ("rope_base rope_scale yarn_ext yarn_attn yarn_fast yarn_slow", Float), ("yarn_ctx", Uint), ("defrag", Float),
    ("eval_callback eval_data", Pointer), ("type_k type_v", Int), ("abort_callback abort_data", Pointer),
    ("embeddings offload_kqv no_perf op_offload swa_full kv_unified", Bool))


class LlamaError(Exception):
    pass


def find_libraries(folder=None):
    """The folder with the libraries: the one given, LLAMA_CPP, or an npm package's."""
    return find_all([folder] if folder else None)[0]


def find_all(folders=None, cpu=False):
    """Every folder with libraries: those given, those in LLAMA_CPP (separated by colons), or the npm packages'. `cpu`: one is
    enough, since all of them have that back end."""
    folders = folders or [f for f in os.environ.get("LLAMA_CPP", "").split(":") if f]
    for folder in folders:
        if not glob.glob(os.path.join(folder, "libllama*.so")):
            raise LlamaError(f"{folder}: no libllama*.so there")
    if not folders:
        packages = [os.path.join(HERE, "..", modules, "@node-llama-cpp", package, "bins", "*")
                    for modules in ("node_modules", "tests/oracle/node_modules") for package in PACKAGES]
        found = [os.path.abspath(f) for p in packages for f in glob.glob(p) if glob.glob(os.path.join(f, "libllama*.so"))]
        with_gpu = [f for f in found if gpu_back_ends(f)]
        folders = found[:1] if cpu or not with_gpu else with_gpu
    if not folders:
        raise LlamaError("llama.cpp's libraries are not here: `make setup`, or LLAMA_CPP=folder with libllama*.so")
    return folders


def gpu_back_ends(folder):
    return [f for f in sorted(glob.glob(os.path.join(folder, "libggml-*.so")))
            if not os.path.basename(f).startswith(("libggml-base", "libggml-cpu"))]


def cuda_paths(name):
    """Where one of CUDA's own libraries is."""
    places = [os.path.join(p, "nvidia", "*", "lib") for p in sys.path if p] + ["/usr/local/cuda*/lib64"]
    return [f for p in places for f in sorted(glob.glob(os.path.join(p, name)))]


def load_cuda(folder):
    """CUDA's own libraries, where the back end wants them and they are not on the loader's way: PyTorch's packages and the
    tool kit's folder have them. Without them that back end does not load, which why_no_gpu tells."""
    if not glob.glob(os.path.join(folder, "libggml-cuda*.so")):
        return
    for name in CUDA_LIBRARIES:
        for path in [name] + cuda_paths(name):
            try:
                ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                break
            except OSError:
                continue


def release_of(folder):
    """As the package calls it: b7347, v0.5.0."""
    try:
        with open(os.path.join(folder, "_nlcBuildMetadata.json")) as f:
            return json.load(f)["buildOptions"]["llamaCpp"]["release"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Library:
    def __init__(self, folder):
        def load(pattern):
            # libllama.so or libllama.v0.5.0.so, but not libllama-common.so
            found = [f for f in sorted(glob.glob(os.path.join(folder, pattern))) if "-common" not in f]
            if not found:
                raise LlamaError(f"{folder}: no {pattern} there")
            return ctypes.CDLL(found[0], mode=ctypes.RTLD_GLOBAL)

        self.folder = folder
        load_cuda(folder)
        load("libggml-base*.so")
        self.ggml, self.llama = load("libggml.*so"), load("libllama.*so")
        new = hasattr(self.llama, "llama_version")
        self.version = release_of(folder)
        if new and not self.version:
            self.llama.llama_version.restype = ctypes.c_char_p
            self.version = self.llama.llama_version().decode()
        model_params, context_params = (NewModelParams, NewContextParams) if new else (OldModelParams, OldContextParams)
        self.declare(model_params, context_params)
        # what it prints would only be in the way; errors are told by what comes back
        self.log = ctypes.CFUNCTYPE(None, Int, ctypes.c_char_p, Pointer)(self.note)
        self.messages = []
        self.llama.llama_log_set(self.log, None)
        self.llama.llama_backend_init()
        self.ggml.ggml_backend_load_all_from_path(folder.encode())
        defaults = self.llama.llama_context_default_params()
        if not (defaults.type_k == defaults.type_v == F16 and defaults.flash_attn_type == -1 and defaults.offload_kqv
                and defaults.n_ubatch == 512):
            raise LlamaError(f"{folder}: a version of llama.cpp whose structures are not known here")

    def note(self, level, text, data):
        if level in (3, 4):  # warnings and errors
            self.messages = (self.messages + [text.decode(errors="replace").strip()])[-20:]

    def declare(self, model_params, context_params):
        def function(library, name, result, *arguments):
            f = getattr(library, name)
            f.restype, f.argtypes = result, arguments

        l, g = self.llama, self.ggml
        function(l, "llama_log_set", None, Pointer, Pointer)
        l.llama_log_set.argtypes = None
        function(l, "llama_backend_init", None)
        function(l, "llama_model_default_params", model_params)
        function(l, "llama_context_default_params", context_params)
        function(l, "llama_model_load_from_file", Pointer, ctypes.c_char_p, model_params)
        function(l, "llama_init_from_model", Pointer, Pointer, context_params)
        function(l, "llama_model_free", None, Pointer)
        function(l, "llama_free", None, Pointer)
        function(l, "llama_model_get_vocab", Pointer, Pointer)
        function(l, "llama_vocab_n_tokens", Int, Pointer)
        function(l, "llama_batch_init", Batch, Int, Int, Int)
        function(l, "llama_batch_free", None, Batch)
        function(l, "llama_decode", Int, Pointer, Batch)
        function(l, "llama_get_logits_ith", ctypes.POINTER(Float), Pointer, Int)
        function(l, "llama_get_memory", Pointer, Pointer)
        function(l, "llama_memory_clear", None, Pointer, Bool)
        function(l, "llama_memory_seq_rm", Bool, Pointer, Int, Int, Int)
        function(l, "llama_synchronize", None, Pointer)
        function(l, "llama_tokenize", Int, Pointer, ctypes.c_char_p, Int, Pointer, Int, Bool, Bool)
        function(g, "ggml_backend_load_all_from_path", None, ctypes.c_char_p)
        function(g, "ggml_backend_dev_count", ctypes.c_size_t)
        function(g, "ggml_backend_dev_get", Pointer, ctypes.c_size_t)
        for name in ("ggml_backend_dev_name", "ggml_backend_dev_description"):
            function(g, name, ctypes.c_char_p, Pointer)
        function(g, "ggml_backend_dev_type", Int, Pointer)

    def devices(self):
        found = [self.ggml.ggml_backend_dev_get(i) for i in range(self.ggml.ggml_backend_dev_count())]
        return [{"name": self.ggml.ggml_backend_dev_name(d).decode(),
                 "description": self.ggml.ggml_backend_dev_description(d).decode(),
                 "is_gpu": self.ggml.ggml_backend_dev_type(d) in (1, 2)} for d in found]


    def why_no_gpu(self):
        for path in gpu_back_ends(self.folder):
            try:
                ctypes.CDLL(path)
            except OSError as e:
                return f"no GPU: {e}"
        return f"no GPU: {' / '.join(self.messages) or 'its back ends find none'}"


OPEN = {}


def open_library(folder):
    """One for each folder: its back ends are to be loaded once."""
    if folder not in OPEN:
        OPEN[folder] = Library(folder)
    return OPEN[folder]


class Model:
    """A model with one context. `exact`: a cache of f32, so that logits can be compared. `share`: another
    one of the same file, whose weights are used; close that one last."""

    def __init__(self, folder, path, context=512, batch=512, gpu_layers=0, flash="auto", threads=None, exact=False,
                 vocabulary_only=False, share=None, embeddings=False):
        self.library = library = open_library(folder)
        self.llama = library.llama
        self.context = self.batch = None
        self.owner = share is None
        self.model = self.load(path, gpu_layers, vocabulary_only) if self.owner else share.model
        self.vocabulary = self.llama.llama_model_get_vocab(self.model)
        self.n_vocab = self.llama.llama_vocab_n_tokens(self.vocabulary)
        if vocabulary_only:
            return
        params = self.llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, batch, batch
        params.flash_attn_type = FLASH[flash]
        params.no_perf = True
        if threads:
            params.n_threads = params.n_threads_batch = threads
        params.embeddings = embeddings
        if exact:
            params.type_k = params.type_v = F32
        self.context = self.llama.llama_init_from_model(self.model, params)
        if not self.context:
            raise LlamaError(f"{path}: llama.cpp makes no context: {' / '.join(library.messages)}")
        self.batch = b = self.llama.llama_batch_init(batch, 0, 1)
        self.fields = [ctypes.cast(p, ctypes.POINTER(kind)) for p, kind in
                       ((b.token, Int), (b.pos, Int), (b.n_seq_id, Int), (b.logits, ctypes.c_int8),
                        (b.seq_id, ctypes.POINTER(Int)))]
        self.position = 0

    def load(self, path, gpu_layers, vocabulary_only):
        params = self.llama.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.vocab_only = vocabulary_only
        model = self.llama.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise LlamaError(f"{path}: llama.cpp does not load it: {' / '.join(self.library.messages)}")
        return model

    def embed(self, tokens):
        """The pooled embedding of a text, as its file says; the model was made with `embeddings`."""
        self.llama.llama_get_embeddings_seq.restype = ctypes.POINTER(Float)
        self.llama.llama_get_embeddings_seq.argtypes = (Pointer, Int)
        self.llama.llama_model_n_embd_out.argtypes = (Pointer,)
        memory = self.llama.llama_get_memory(self.context)
        if memory:
            self.llama.llama_memory_clear(memory, True)
        token, pos, n_seq, wanted, seq = self.fields
        for i, t in enumerate(tokens):
            token[i], pos[i], n_seq[i], wanted[i], seq[i][0] = t, i, 1, 1, 0
        self.batch.n_tokens = len(tokens)
        if self.llama.llama_decode(self.context, self.batch) != 0:
            raise LlamaError(f"llama.cpp cannot embed: {' / '.join(self.library.messages)}")
        return self.llama.llama_get_embeddings_seq(self.context, 0)[:self.llama.llama_model_n_embd_out(self.model)]

    def add_lora(self, path, scale):
        init, use = self.llama.llama_adapter_lora_init, self.llama.llama_set_adapters_lora
        init.restype, init.argtypes = Pointer, (Pointer, ctypes.c_char_p)
        adapter = init(self.model, os.fsencode(path))
        if not adapter:
            raise LlamaError(f"{path}: llama.cpp does not load it: {' / '.join(self.library.messages)}")
        use.argtypes = (Pointer, Pointer, ctypes.c_size_t, Pointer)
        if use(self.context, ctypes.byref(Pointer(adapter)), 1, ctypes.byref(Float(float(scale)))) != 0:
            raise LlamaError(f"{path}: llama.cpp does not use it")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.batch:
            self.llama.llama_batch_free(self.batch)
        if self.context:
            self.llama.llama_free(self.context)
        if self.owner:
            self.llama.llama_model_free(self.model)

    def run(self, tokens, all_logits=False):
        """Feed tokens at the next positions; the logits of the last (or of all) can be read."""
        b = self.batch
        token, pos, count, logits, sequence = self.fields
        for i, id_ in enumerate(tokens):
            token[i], pos[i], count[i] = id_, self.position + i, 1
            sequence[i][0] = 0
            logits[i] = all_logits or i == len(tokens) - 1
        b.n_tokens = len(tokens)
        status = self.llama.llama_decode(self.context, b)
        if status != 0:
            raise LlamaError(f"llama_decode fails with {status}: {' / '.join(self.library.messages)}")
        self.position += len(tokens)

    def logits_at(self, i):
        """A pointer to n_vocab floats; waits until they are there."""
        return self.llama.llama_get_logits_ith(self.context, i)

    def decode(self, tokens):
        """The logits after each of the tokens."""
        rows = []
        for token in tokens:
            self.run([token])
            rows.append(self.logits_at(-1)[:self.n_vocab])
        return rows

    def forget(self, from_position=0):
        if not self.llama.llama_memory_seq_rm(self.llama.llama_get_memory(self.context), 0, from_position, -1):
            raise LlamaError("the cache does not forget")
        self.position = from_position

    def tokenize(self, text, special=True, bos=False):
        data = text.encode() if isinstance(text, str) else text
        ids = (Int * (len(data) + 8))()
        count = self.llama.llama_tokenize(self.vocabulary, data, len(data), ids, len(ids), bos, special)
        if count < 0:
            raise LlamaError("llama_tokenize fails")
        return ids[:count]


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)
